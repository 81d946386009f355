"use strict";
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll(".plot")];
  const state = new Map(); // plot -> { ground, text, view }
  const queue = new Map(); // plot -> promise of what is drawn into it, one drawing after the other
  let paper = false;

  const ground = () => (dark.matches && !paper ? "dark" : "light");

  // Vega-Lite 6.4 lays cells around the points to find the nearest, and forgets for texts in a tooltip that a cell's datum is a point,
  // whose datum is the row.
  const mend = (vega) => {
    const visit = (marks) => marks.forEach((mark) => {
      const tooltip = mark.name?.endsWith("voronoi") && mark.encode?.update?.tooltip;
      if (tooltip?.signal) tooltip.signal = tooltip.signal.replaceAll(/(?<!datum\.)datum\["/g, 'datum.datum["');
      visit(mark.marks ?? []);
    });
    visit(vega.marks);
    return vega;
  };

  function render(plot) {
    const drawing = (queue.get(plot) ?? Promise.resolve()).catch(() => {}).then(() => draw(plot));
    queue.set(plot, drawing);
    return drawing;
  }

  async function draw(plot) {
    const wanted = ground(), text = document.getElementById(plot.dataset.spec).textContent;
    const found = state.get(plot);
    if (text === "null" || (found?.ground === wanted && found.text === text)) return;
    const before = found?.view;
    state.set(plot, { ground: wanted, text, view: null });
    // Vega names the drawing by its description, in place of the name that the page gave it.
    const spec = { description: plot.getAttribute("aria-label"), ...JSON.parse(text) };
    const colours = { range: { category: spec.usermeta.colours[wanted] } };
    try {
      before?.finalize();
      const { view } = await vegaEmbed(plot, spec, {
        // Expressions are interpreted, for the policy of the page forbids to compile them.
        mode: "vega-lite", renderer: "svg", ast: true, actions: false, config: { ...config[wanted], ...colours }, tooltip: { theme: "custom" }, patch: mend,
      });
      state.get(plot).view = view;
      plot.dataset.rendered = wanted;
    } catch (fault) {
      plot.innerHTML = "";
      const message = document.createElement("p");
      message.className = "fault";
      message.textContent = `This figure cannot be drawn (${fault.message}). Its numbers are in the table below.`;
      plot.append(message);
      throw fault;
    }
  }

  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => { near.unobserve(entry.target); render(entry.target); }),
    { rootMargin: "600px 0px" },
  );
  plots.forEach((plot) => near.observe(plot));
  plots.forEach((plot) => plot.addEventListener("respecified", () => { if (state.has(plot)) render(plot); }));

  // What is not in sight yet follows when nothing else is to do, one figure at a time, so that printing and searching find it there.
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
  const rest = plots.slice();
  const next = () => { const plot = rest.shift(); if (plot) { render(plot).finally(() => idle(next)); } };
  addEventListener("load", () => idle(next));

  const all = () => Promise.all(plots.map(render));
  dark.addEventListener("change", all);
  addEventListener("beforeprint", () => { paper = true; document.documentElement.classList.add("paper"); all(); });
  addEventListener("afterprint", () => { paper = false; document.documentElement.classList.remove("paper"); all(); });
})();
