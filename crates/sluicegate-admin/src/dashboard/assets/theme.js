// Light or dark, before anything is drawn: what was chosen here once, or else what the system prefers.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem("sluicegate.theme");
    } catch {
      return null;
    }
  };
  const apply = () => {
    const chosen = kept();
    root.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
  };
  apply();
  system.addEventListener("change", apply);
  window.sluicegateTheme = {
    now: () => root.dataset.theme,
    toggle() {
      const next = root.dataset.theme === "dark" ? "light" : "dark";
      root.dataset.theme = next;
      try {
        localStorage.setItem("sluicegate.theme", next);
      } catch {
        // Whoever keeps nothing chooses again.
      }
      return next;
    },
  };
})();
