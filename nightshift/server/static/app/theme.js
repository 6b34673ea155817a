// Applies the light, the dark or the system's theme. It is a classic script in the head, so that it runs before the
// first paint.

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
  // Follow changes of the theme in other tabs.
  addEventListener('storage', (event) => event.key === 'theme' && apply());
})();
