// A shared worker that makes one tab after another the leader. It is used without https, where Web Locks are not
// available.

const waiting = [];

const next = () => waiting[0]?.postMessage('lead');

addEventListener('connect', ({ports: [port]}) => {
  const leave = () => {
    const at = waiting.indexOf(port);
    if (at >= 0) waiting.splice(at, 1);
    if (at === 0) next();
  };
  port.onmessage = leave;
  port.onclose = leave; // a crashed tab, if the browser reports it
  if (waiting.push(port) === 1) next();
});
