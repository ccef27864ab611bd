// Says when there are newer requests than the page shows. The page is read without it.
"use strict";
(() => {
  const place = document.getElementById("live");
  if (!place || !window.EventSource) return;
  const source = new EventSource("/inspect/live");
  let newer = 0;
  source.addEventListener("request", () => {
    newer += 1;
    place.textContent = newer === 1 ? "1 newer request: load the page again" : newer + " newer requests: load the page again";
    place.hidden = false;
  });
  source.addEventListener("end", () => source.close());
})();
