// What the theme and the notebooks leave out: a name of the search dialog, and keys for what scrolls.
document.querySelectorAll(".md-search[role=dialog]").forEach(box => box.setAttribute("aria-label", "Search"));
const reachable = () =>
  document.querySelectorAll(".md-typeset__scrollwrap, .highlight-ipynb, .jp-OutputArea-output").forEach(box => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  });
addEventListener("load", reachable);
addEventListener("resize", reachable);
