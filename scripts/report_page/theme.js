"use strict";
// The theme. A page that draws calls keepDrawn() with what draws it again.

const THEMES = ["auto", "light", "dark"];
let theme = 0, afterTheme = () => {};

function setTheme(next) {
  const button = document.getElementById("theme"), name = THEMES[next];
  theme = next;
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
  button.setAttribute("aria-label", `Theme: ${name === "auto" ? "as the system" : name}`);
  afterTheme();
}

document.getElementById("theme").addEventListener("click", () => setTheme((theme + 1) % THEMES.length));

// Calls `draw` whenever colours or sizes change. Paper has no sections to open, and is light.
function keepDrawn(draw) {
  let closed = [];
  afterTheme = draw;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
    document.documentElement.dataset.theme = "light";
    draw();
  });
  window.addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
    setTheme(theme);
  });
}
