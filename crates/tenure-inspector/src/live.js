// Says when there are newer requests than the page shows, and which instant a slider stands at. Every page is read and used
// without it.
"use strict";
(() => {
  for (const slider of document.querySelectorAll("input[data-instants]")) {
    const instants = slider.dataset.instants.split("|");
    const said = slider.parentElement.querySelector("output");
    slider.addEventListener("input", () => {
      said.textContent = instants[slider.value];
      slider.setAttribute("aria-valuetext", said.textContent);
    });
  }
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
