"use strict";
// The theme, for pages that draw nothing.

const THEMES = ["auto", "light", "dark"];
let theme = 0;

document.getElementById("theme").addEventListener("click", (event) => {
  theme = (theme + 1) % THEMES.length;
  const name = THEMES[theme], button = event.currentTarget;
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
  button.setAttribute("aria-label", `Theme: ${name === "auto" ? "as the system" : name}`);
});
