"use strict";
// The figure whose metric, axes and curves the reader chooses: the choice becomes a specification, which page.js draws.
(() => {
  const figure = document.getElementById("explorer");
  if (!figure) return;
  const { keys, metrics, start, lines, spec: template } = JSON.parse(document.getElementById("explorer-data").textContent);
  const form = figure.querySelector("form"), plot = figure.querySelector(".plot");
  const key = Object.fromEntries(keys.map((each) => [each.name, each]));
  const points = [...keys[0].at.keys()];
  const MOST_SHOWN = 12, MOST_ROWS = 500, ANCHOR = "#explorer?";
  let choice = null;

  const nameAt = (of, point) => of.at[point] < 0 ? null : of.names[of.at[point]];
  const ofSeries = (series) => key.series && series !== null ? points.filter((at) => nameAt(key.series, at) === series) : points;
  const varied = (members) => keys.filter((each) => new Set(members.map((at) => each.at[at]).filter((at) => at >= 0)).size > 1);
  const known = (metric, members) => members.some((at) => metric.y[at] !== null);
  const namesIn = (of, members) => { const there = new Set(members.map((at) => of.at[at])); return of.names.filter((_, at) => there.has(at)); };
  const spread = (list, most) => list.length <= most ? list : [...Array(most).keys()].map((at) => list[Math.round(at * (list.length - 1) / (most - 1))]);
  const text = (value) => value === null ? "–" : value !== 0 && Math.abs(value) < 1e-6 ? value.toExponential() : value.toLocaleString("en", { maximumSignificantDigits: 6 });
  const withUnit = (words, unit) => unit ? `${words} ${unit}` : words;

  // A wish, from the controls or the address, made possible: what the wish leaves open or cannot have is chosen for it.
  function settle(wish) {
    const byCurve = wish.curve === "series" || wish.x === "series";
    const series = key.series && !byCurve ? (key.series.names.includes(wish.at?.series) ? wish.at.series : key.series.names[key.series.at[0]]) : null;
    let members = ofSeries(series);
    const choices = varied(members), has = (name) => choices.some((each) => each.name === name);
    const drawable = metrics.filter((metric) => known(metric, members));
    const metric = [wish.metric, start.metric].map((name) => drawable.find((each) => each.name === name)).find(Boolean) ?? drawable[0];
    const x = [wish.x, start.x].find(has) ?? (choices.find((each) => each.values) ?? choices[0] ?? keys[0]).name;
    const splits = choices.filter((each) => each.colours && each.name !== x);
    const split = (name) => name === "" || splits.some((each) => each.name === name);
    const curve = [wish.curve, start.curve].find((name) => name !== undefined && split(name)) ?? "";
    const dash = has(lines) && lines !== x && lines !== curve ? lines : "";
    // A point that is drawn gives the values that the wish leaves open.
    const drawn = members.find((point) => metric.y[point] !== null && [x, curve, dash].every((name) => !name || key[name].at[point] >= 0)) ?? members[0];
    const fixed = {};
    if (series !== null) fixed.series = series;
    for (const each of choices) {
      if ([x, curve, dash, "series"].includes(each.name)) continue;
      const wanted = wish.at?.[each.name];
      fixed[each.name] = each.names.includes(wanted) ? wanted : nameAt(each, drawn) ?? namesIn(each, members)[0];
    }
    members = members.filter((point) => Object.entries(fixed).every(([name, value]) => [null, value].includes(nameAt(key[name], point))));
    const some = (name, wanted) => {
      if (!name) return [];
      const there = namesIn(key[name], members), found = there.filter((each) => wanted?.includes(each));
      // Names that are not there are no wish for an empty figure.
      return found.length || (wanted && !wanted.some(Boolean)) ? found : spread(there, MOST_SHOWN);
    };
    const curves = some(curve, wish.show), dashes = some(dash, wish.lines);
    return { metric, x, curve, dash, fixed, log: [..."xy"].filter((axis) => wish.log?.includes(axis)).join(""), show: curves, lines: dashes, members, choices, splits, drawable };
  }

  // What is there stays there while it is of the same names, so that the focus and a reader's place stay too.
  function keep(holder, names, make) {
    const of = JSON.stringify(names);
    if (holder.dataset.of !== of) holder.replaceChildren(...make());
    holder.dataset.of = of;
  }
  const options = (select, pairs, chosen) => {
    keep(select, pairs, () => pairs.map(([value, words]) => new Option(words, value)));
    select.value = chosen;
  };

  function fill() {
    const { metric, x, curve, dash, fixed, log, members, choices, splits, drawable } = choice;
    const group = (label, found) => {
      const made = document.createElement("optgroup");
      made.label = label;
      made.append(...found.map((each) => new Option(each.axis, each.name)));
      return made;
    };
    const groups = [["Main metrics", drawable.filter((each) => each.main)], ["All others", drawable.filter((each) => !each.main)]];
    const { metric: metricChoice, x: xChoice, curve: curveChoice } = form.elements;
    keep(metricChoice, drawable.map((each) => each.name), () => groups.filter(([, found]) => found.length).map(([label, found]) => group(label, found)));
    metricChoice.value = metric.name;
    options(xChoice, choices.map((each) => [each.name, each.title]), x);
    options(curveChoice, [["", "(one curve)"], ...splits.map((each) => [each.name, each.title])], curve);
    const holder = form.querySelector(".fixed");
    keep(holder, Object.keys(fixed), () => Object.keys(fixed).map((name) => {
      const label = document.createElement("label"), select = document.createElement("select");
      select.name = `at.${name}`;
      label.append(`${key[name].title} `, select);
      return label;
    }));
    for (const select of holder.querySelectorAll("select")) {
      const name = select.name.slice(3), names = name === "series" ? key[name].names : namesIn(key[name], ofSeries(fixed.series ?? null));
      options(select, names.map((each) => [each, each]), fixed[name]);
    }
    for (const box of form.querySelectorAll("[name=log]")) box.checked = log.includes(box.value);
    form.querySelector("[value=x][name=log]").disabled = !key[x].values?.some((value) => value > 0);
    boxes("show", curve, choice.show, members, false);
    boxes("lines", dash, choice.lines, members, true);
  }

  // A sample of the line is the legend of what a box shows or hides.
  function sample(of, place, isDash) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS(svg.namespaceURI, "line");
    for (const [name, value] of Object.entries({ class: "sample", width: 26, height: 8, "aria-hidden": "true" })) svg.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x1: 0, x2: 26, y1: 4, y2: 4, stroke: "currentColor", "stroke-width": 2.5 })) line.setAttribute(name, value);
    if (isDash) line.setAttribute("stroke-dasharray", dashOf(place).join(" "));
    else for (const ground of ["light", "dark"]) svg.style.setProperty(`--${ground}`, of.colours[ground][place]);
    svg.append(line);
    return svg;
  }
  const dashOf = (place) => template.dashes[place % template.dashes.length];

  function boxes(name, of, shown, members, isDash) {
    const set = form.querySelector(`fieldset[name=${name}]`), title = of ? key[of].title : "";
    const names = of ? namesIn(key[of], members) : [];
    set.hidden = !of;
    keep(set, [of, names], () => {
      const legend = document.createElement("legend");
      legend.textContent = title;
      const made = names.map((each) => {
        const label = document.createElement("label"), box = document.createElement("input");
        Object.assign(box, { type: "checkbox", name, value: each });
        label.append(box, sample(key[of], key[of].names.indexOf(each), isDash), each);
        return label;
      });
      const buttons = names.length < 4 ? [] : [["All", names], ["None", []]].map(([words, wanted]) => {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", textContent: words });
        button.setAttribute("aria-label", `${words}: ${title}`);
        button.addEventListener("click", () => choose({ ...wish(), [name]: wanted }));
        return button;
      });
      return [legend, ...made, ...buttons];
    });
    for (const box of set.querySelectorAll("input")) box.checked = shown.includes(box.value);
  }

  // Rows of the figure: points that the choice shows, with their texts for the pointer.
  function rows() {
    const { metric, x, curve, dash, show, log, members } = choice, along = key[x];
    const isLog = (axis) => log.includes(axis) && (axis === "y" || along.values);
    let left = 0;
    const found = [];
    for (const point of members) {
      const c = curve ? nameAt(key[curve], point) : "", d = dash ? nameAt(key[dash], point) : "", y = metric.y[point];
      if (y === null || along.at[point] < 0 || (curve && !show.includes(c)) || (dash && !choice.lines.includes(d))) continue;
      const place = along.values ? along.values[along.at[point]] : nameAt(along, point);
      if ((isLog("x") && place <= 0) || (isLog("y") && y <= 0)) { left += 1; continue; }
      const low = metric.l?.[point] ?? null, high = metric.h?.[point] ?? null;
      const row = { x: place, y, c: c ?? "", d: d ?? "", value: withUnit(text(y), metric.unit), at: nameAt(along, point), point };
      row.interval = low === null ? "none" : withUnit(`${text(low)} to ${text(high)}`, metric.unit);
      if (low !== null && !(isLog("y") && low <= 0)) Object.assign(row, { l: low, h: high });
      if (metric.w?.[point]) row.w = metric.w[point];
      found.push(row);
    }
    if (along.values) found.sort((a, b) => a.x - b.x);
    return { found, left };
  }

  // Round ends of the vertical axis; an interval may reach far beyond and is cut off there, lest it flatten the curves.
  function domain(found, metric, isLog) {
    const ys = found.map((row) => row.y);
    let low = Math.min(...ys), high = Math.max(...ys);
    if (isLog) return [0.8 * low, 1.25 * high];
    const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1, isPositive = low >= 0, isBounded = metric.most !== undefined && high <= metric.most;
    const inner = found.flatMap((row) => [row.l, row.h]).filter((end) => end !== undefined && end >= low - 3 * margin && end <= high + 3 * margin);
    [low, high] = [Math.min(low, ...inner), Math.max(high, ...inner)];
    if (metric.zero || (isPositive && low < 0.25 * high)) low = Math.min(low, 0);
    if (isPositive) low = Math.max(low, 0);
    if (isBounded) high = Math.min(high, metric.most);
    return low < high ? [low, high] : [low - margin, high + margin];
  }

  function specification(found) {
    const { metric, x, curve, dash, log } = choice, along = key[x], isNumber = Boolean(along.values);
    const spec = structuredClone(template);
    spec.data = { values: found };
    const { encoding } = spec, kind = (isLog) => isLog ? { type: "log" } : { zero: false };
    const isLogX = isNumber && log.includes("x"), isLogY = log.includes("y");
    Object.assign(encoding.x, isNumber
      ? { type: "quantitative", title: along.axis, axis: along.ticks, scale: { nice: false, padding: 6, ...kind(isLogX) } }
      : { type: "ordinal", title: along.title, sort: along.names, axis: { labelAngle: 0, labelOverlap: "greedy", labelLimit: 140 }, scale: { type: "point", padding: 0.5 } });
    Object.assign(encoding.y, { title: metric.axis, scale: { domain: domain(found, metric, isLogY), nice: !isLogY, ...kind(isLogY) } });
    const names = curve ? key[curve].names : [""], dashes = dash ? key[dash].names : [""];
    encoding.color.scale = { domain: names };
    const layer = Object.fromEntries(spec.layer.map((each) => [each.name, each]));
    layer.lines.encoding.strokeDash = { ...layer.lines.encoding.strokeDash, legend: null, scale: { domain: dashes, range: dashes.map((_, place) => dashOf(place)) } };
    layer.points.encoding.tooltip = [
      { field: "value", title: metric.title }, { field: "interval", title: "95% interval" }, { field: "at", title: along.title },
      ...(curve ? [{ field: "c", title: key[curve].title }] : []), ...(dash ? [{ field: "d", title: key[dash].title }] : []),
      ...(metric.w ? [{ field: "w", title: "caution" }] : []),
    ];
    // A layer without a row makes Vega warn of an axis without an end.
    const hasEnds = found.some((row) => row.l !== undefined);
    // Between values without an order there is nothing that a line could mean.
    const unused = isNumber ? ["whiskers"] : ["band", "lines"];
    spec.layer = spec.layer.filter((each) => !unused.includes(each.name) && (hasEnds || !["band", "whiskers"].includes(each.name)));
    if (curve) spec.usermeta = { colours: key[curve].colours };
    delete spec.dashes;
    return spec;
  }

  function numbers(found) {
    const { metric, x, curve, dash } = choice, table = figure.querySelector("table");
    const head = [key[x].title, ...(curve ? [key[curve].title] : []), ...(dash ? [key[dash].title] : []), metric.axis, "95% interval"];
    table.replaceChildren();
    table.createCaption().textContent = plot.getAttribute("aria-label");
    const top = table.createTHead().insertRow(), body = table.createTBody();
    for (const words of head) { const cell = document.createElement("th"); cell.scope = "col"; cell.textContent = words; top.append(cell); }
    for (const row of spread(found, MOST_ROWS)) {
      const line = body.insertRow(), first = document.createElement("th");
      first.scope = "row"; first.textContent = row.at; line.append(first);
      for (const words of [...(curve ? [row.c] : []), ...(dash ? [row.d] : []), row.value, row.interval]) line.insertCell().textContent = words;
    }
  }

  function show() {
    const { metric, x } = choice, { found, left } = rows();
    const title = `${metric.axis} against ${key[x].title.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())}`;
    plot.setAttribute("aria-label", title);
    figure.querySelector(".drawn strong").textContent = title;
    const curves = new Set(found.map((row) => `${row.c}\n${row.d}`)).size;
    const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
    const beyond = left ? ` ${counted(left, "point")} not above zero ${left === 1 ? "has" : "have"} no place on a logarithmic axis.` : "";
    figure.querySelector("[role=status]").textContent = found.length ? `${counted(found.length, "point")}, ${counted(curves, "curve")}.${beyond}` : `No point has these values.${beyond}`;
    figure.querySelector("p.lead").textContent = metric.about;
    plot.hidden = found.length === 0;
    numbers(found);
    if (found.length) {
      document.getElementById("explorer-spec").textContent = JSON.stringify(specification(found));
      plot.dispatchEvent(new Event("respecified"));
    }
  }

  const checked = (name) => [...form.querySelectorAll(`input[name=${name}]:checked`)].map((box) => box.value);
  function wish() {
    const fixed = Object.fromEntries([...form.querySelectorAll(".fixed select")].map((select) => [select.name.slice(3), select.value]));
    return {
      metric: form.elements.metric.value, x: form.elements.x.value, curve: form.elements.curve.value, log: checked("log").join(""), at: fixed,
      show: choice.curve ? checked("show") : undefined, lines: choice.dash ? checked("lines") : undefined,
    };
  }

  // The address holds what differs from what the page shows at first; the names of values, so that it fits a later run as well.
  function address() {
    const { metric, x, curve, log, fixed, show: shown, lines: dashes } = choice, words = new URLSearchParams(), first = settle({});
    if (metric !== first.metric) words.set("metric", metric.name);
    if (x !== first.x) words.set("x", x);
    if (curve !== first.curve) words.set("curve", curve);
    if (log) words.set("log", log);
    for (const [name, value] of Object.entries(fixed)) if (value !== first.fixed[name]) words.set(`at.${name}`, value);
    const usual = settle({ x, curve, at: fixed });
    for (const [name, found] of [["show", shown], ["lines", dashes]]) {
      if (found.join("\n") !== usual[name].join("\n")) (found.length ? found : [""]).forEach((each) => words.append(name, each));
    }
    return words.toString();
  }
  function read(hash) {
    if (!hash.startsWith(ANCHOR)) return {};
    const words = new URLSearchParams(hash.slice(ANCHOR.length)), given = (name) => words.get(name) ?? undefined;
    const fixed = Object.fromEntries([...words].filter(([name]) => name.startsWith("at.")).map(([name, value]) => [name.slice(3), value]));
    const listed = (name) => words.has(name) ? words.getAll(name) : undefined;
    return { metric: given("metric"), x: given("x"), curve: given("curve"), log: given("log"), at: fixed, show: listed("show"), lines: listed("lines") };
  }

  function choose(wanted) {
    choice = settle(wanted);
    fill();
    show();
    const words = address();
    history.replaceState(null, "", words ? ANCHOR + words : location.pathname + location.search);
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => {
    const wanted = wish();
    // Which curves are shown is a choice among those of one key, at one place.
    if (["x", "curve"].includes(event.target.name) || event.target.name.startsWith("at.")) {
      if (event.target.name === "curve" || event.target.name === "at.series" || wanted.curve === wanted.x) wanted.show = undefined;
      wanted.lines = wanted.lines?.length ? wanted.lines : undefined;
    }
    choose(wanted);
  });
  function open() {
    choice = settle(read(location.hash));
    fill();
    show();
    if (!location.hash.startsWith(ANCHOR)) return;
    for (let fold = figure.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    figure.scrollIntoView();
  }
  addEventListener("hashchange", () => { if (location.hash.startsWith(ANCHOR)) open(); });
  open();
})();
