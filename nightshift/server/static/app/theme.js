// Light, dark, or as the system has it. A classic script in the head: it runs before anything is painted.

(() => {
  const kept = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null;
    }
  };
  const root = document.documentElement;
  const apply = () => {
    const theme = kept();
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  apply();
  // Other tabs follow.
  addEventListener('storage', (event) => event.key === 'theme' && apply());
})();
