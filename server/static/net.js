// Speaks to the API, and follows the log through the page's one EventSource.

/** Ask the API; answers `{ok, status, data}`. A daemon that is gone is an answer too, with status 0. */
export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify(body),
  };
  try {
    const answer = await fetch(path, options);
    if (answer.status === 401) location.assign('/login');
    return {ok: answer.ok, status: answer.status, data: await answer.json()};
  } catch {
    return {ok: false, status: 0, data: {error: 'the daemon does not answer; is it running?', fields: {}}};
  }
}

/**
 * Follow the log.
 * @param {object} query `after`, `level`, `task`; empty ones are left out
 * @param {function} onLine called with each line
 */
export function follow(query, onLine) {
  const given = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  const source = new EventSource(`/api/logs/stream?${new URLSearchParams(given)}`);
  const light = document.getElementById('live');
  const show = (state, title) => {
    light.className = `live ${state}`;
    light.title = title;
  };
  source.onopen = () => show('on', 'live');
  source.onerror = () => show('off', 'the daemon does not answer; trying again');
  source.onmessage = (event) => onLine(JSON.parse(event.data));
  source.addEventListener('resync', () => location.reload());
  addEventListener('pagehide', () => source.close());
  // A page that comes back from the browser's cache has missed what happened meanwhile.
  addEventListener('pageshow', (event) => event.persisted && location.reload());
}

/** Calls `work` soon, once for many calls, and never twice at a time. */
export function gently(work, pauseMs = 250) {
  let due = false;
  let busy = false;
  const run = async () => {
    busy = true;
    while (due) {
      due = false;
      await work();
      await new Promise((done) => setTimeout(done, pauseMs));
    }
    busy = false;
  };
  return () => {
    due = true;
    if (!busy) setTimeout(run, 30);
    busy = true;
  };
}
