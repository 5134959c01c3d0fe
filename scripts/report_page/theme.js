"use strict";
// The theme. A page that draws sets `afterTheme` to what draws it again.

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
