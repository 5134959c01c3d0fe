// The theme: light, dark, or as the system has it.

const THEMES = ["auto", "light", "dark"];
let theme = 0;

function themeButton() {
  return h("button", { type: "button", id: "theme", "aria-label": "Theme: as the system",
    click: () => setTheme((theme + 1) % THEMES.length) }, "Theme: auto");
}

function setTheme(next) {
  const button = document.getElementById("theme"), name = THEMES[next];
  theme = next;
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
  button.setAttribute("aria-label", `Theme: ${name === "auto" ? "as the system" : name}`);
  redrawAll();
}
