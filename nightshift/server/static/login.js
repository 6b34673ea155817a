// The link that the daemon prints has the token after `#`, so that no log contains it; this script submits it with the
// form.

function enter() {
  const token = decodeURIComponent(location.hash.slice(1));
  if (!token) return;
  history.replaceState(null, '', location.pathname);
  document.getElementById('token').value = token;
  document.getElementById('login').submit();
}

addEventListener('hashchange', enter);
enter();
