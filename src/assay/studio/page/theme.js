/** Light or dark: the system's wish, unless the user chose. */
import { byId, fill, icon } from "./dom.js";
import { isDark } from "./colours.js";

const KEY = "assay-studio-theme";

/** @param {() => void} onChange */
export function startTheme(onChange) {
  const button = byId("theme", HTMLButtonElement);
  const chosen = localStorage.getItem(KEY);
  if (chosen) document.documentElement.dataset["theme"] = chosen;
  const show = () => {
    const other = isDark() ? "light" : "dark";
    button.setAttribute("aria-label", `Use the ${other} theme`);
    fill(button, icon(isDark() ? "sun" : "moon"));
    onChange();
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(KEY, theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
