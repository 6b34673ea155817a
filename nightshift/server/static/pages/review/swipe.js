// Detects swipe gestures on an element.

const FAR_PX = 60;

/**
 * Return touch listeners for an element. A swipe is a long and nearly horizontal movement. It does not count if it
 * begins on content that scrolls sideways.
 * @param {{left: () => void, right: () => void}} work the action for each direction
 */
export function swipes({left, right}) {
  let from = null;
  const onTouchStart = ({touches, target}) => {
    const box = target.closest('.scroll, pre');
    from = touches.length === 1 && !(box && box.scrollWidth > box.clientWidth) ? touches[0] : null;
  };
  const onTouchEnd = ({changedTouches}) => {
    if (!from) return;
    const [x, y] = [changedTouches[0].clientX - from.clientX, changedTouches[0].clientY - from.clientY];
    from = null;
    if (Math.abs(x) >= FAR_PX && Math.abs(x) > 2 * Math.abs(y)) (x < 0 ? left : right)();
  };
  return {onTouchStart, onTouchEnd, onTouchCancel: () => { from = null; }};
}
