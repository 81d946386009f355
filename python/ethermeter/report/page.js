"use strict";
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll(".plot")];
  const state = new Map(); // plot -> { ground, view }
  let paper = false;

  const ground = () => (dark.matches && !paper ? "dark" : "light");

  async function render(plot) {
    const wanted = ground();
    if (state.get(plot)?.ground === wanted) return;
    const before = state.get(plot)?.view;
    state.set(plot, { ground: wanted, view: null });
    const spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
    const colours = { range: { category: spec.usermeta.colours[wanted] } };
    try {
      before?.finalize();
      const found = await vegaEmbed(plot, spec, {
        mode: "vega-lite", renderer: "svg", actions: false, config: { ...config[wanted], ...colours }, tooltip: { theme: "custom" },
      });
      if (state.get(plot).ground === wanted) state.set(plot, { ground: wanted, view: found.view });
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
