// Shows newer requests as they come, or says that there are some, and which instant a slider stands at. Every page is read and used
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
  // A reader who is typing, or has moved down the page, is not disturbed: the page is fetched anew at its head.
  const fresh = async () => {
    const reply = await fetch(location.href);
    if (!reply.ok) throw new Error(reply.status);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const part of ["table", "ul.figures"]) {
      const [here, there] = [document.querySelector("main " + part), page.querySelector("main " + part)];
      if (here && there) here.replaceWith(document.adoptNode(there));
    }
    newer = 0;
    place.hidden = true;
  };
  let asked = 0;
  source.addEventListener("request", () => {
    newer += 1;
    clearTimeout(asked);
    asked = setTimeout(async () => {
      const isOlder = new URLSearchParams(location.search).get("after");
      if (!isOlder && scrollY === 0) {
        try {
          return await fresh();
        } catch {
          // The line below says it.
        }
      }
      place.textContent = newer === 1 ? "1 newer request: load the page again" : newer + " newer requests: load the page again";
      place.hidden = false;
    }, 200);
  });
  source.addEventListener("end", () => source.close());
})();
