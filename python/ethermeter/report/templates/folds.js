"use strict";
(() => {
  const map = document.querySelector("nav.map > details");
  const button = map.querySelector("button.all");
  const folds = [...document.querySelectorAll("details.fold")];
  const wide = matchMedia("(min-width: 1080px)");

  const fit = () => { map.open = wide.matches; };
  fit();
  wide.addEventListener("change", fit);

  // On a narrow screen figures stand below each other: from its end, more of the page is folded.
  if (!wide.matches) for (const fold of folds.filter((each) => each.open).reverse()) {
    if (document.documentElement.scrollHeight <= 14000) break;
    fold.open = false;
  }

  const areOpen = () => folds.every((fold) => fold.open);
  const name = () => { button.textContent = areOpen() ? "Fold all" : "Unfold all"; };
  button.hidden = areOpen();
  name();
  button.addEventListener("click", () => { const open = !areOpen(); folds.forEach((fold) => { fold.open = open; }); });
  folds.forEach((fold) => fold.addEventListener("toggle", name));

  // A link leads into what is folded.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const own = target.querySelector(":scope > details.fold");
    if (own) own.open = true;
    for (let fold = target.closest("details.fold"); fold; fold = fold.parentElement.closest("details.fold")) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    if (!wide.matches && map.contains(link)) map.open = false;
    if (link.hash === location.hash) reveal();
  });

  // Paper has nothing to unfold.
  const closed = new Set();
  addEventListener("beforeprint", () => folds.filter((fold) => !fold.open).forEach((fold) => { closed.add(fold); fold.open = true; }));
  addEventListener("afterprint", () => { closed.forEach((fold) => { fold.open = false; }); closed.clear(); });
})();
