// Submits the token of the link that the daemon prints. The token is in the URL fragment, after `#`, so that no log
// contains it.

function enter() {
  const token = decodeURIComponent(location.hash.slice(1));
  if (!token) return;
  history.replaceState(null, '', location.pathname);
  document.getElementById('token').value = token;
  document.getElementById('login').submit();
}

addEventListener('hashchange', enter);
enter();
