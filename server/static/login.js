// The link that the daemon prints carries the token behind `#`, where it reaches no log; the form sends it.

const token = decodeURIComponent(location.hash.slice(1));
if (token && !new URLSearchParams(location.search).has('wrong')) {
  history.replaceState(null, '', location.pathname);
  document.getElementById('token').value = token;
  document.getElementById('login').submit();
}
