"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
/** What a section has for each variant: an element, whose parts have names, and the variant's data. */
const variants = (section) => [...document.querySelectorAll(`#${section} .variant`)].map((root) => ({
  facts: data.variants[root.dataset.variant], part: (name) => root.querySelector(`[data-part="${name}"]`), root,
}));
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name in element && name !== "list") element[name] = value; else element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const redraw = [];

$("theme").onclick = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  redraw.forEach((draw) => draw());
};

// --- Block map: a code is visibility + 3 * treatment -----------------------------------
const CODES = {
  0: ["none", "nothing visible, skipped"],
  8: ["all", "all visible, no mask evaluated"],
  4: ["some", "some visible, mask evaluated"],
  5: ["unneeded", "all visible, mask evaluated anyway (or the sequence ends within it)"],
  3: ["waste", "nothing visible, processed needlessly"],
  1: ["wrong", "some visible, skipped"], 2: ["wrong", "all visible, skipped"],
  6: ["wrong", "nothing visible, not masked"], 7: ["wrong", "some visible, not masked"],
};
/** Gives a canvas a size in CSS pixels, such that none of its own pixels is lost. */
function setSize(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  Object.assign(canvas, {width: Math.round(width * scale), height: Math.round(height * scale)});
  Object.assign(canvas.style, {width: canvas.width / scale + "px", height: canvas.height / scale + "px"});
  return scale;
}
function blockMap({facts, part}) {
  const canvas = part("map"), pick = part("which"), pairs = pairsOfBlock(facts, part);
  let marked = null;
  facts.maps.forEach((map, n) => pick.append(make("option", {value: n, textContent: `sequence ${map.entry}, head ${map.head}`})));
  pick.parentElement.hidden = facts.maps.length < 2;
  const legend = part("maplegend");
  function draw() {
    const map = facts.maps[pick.value || 0], rows = map.rows.length, columns = Math.max(...map.rows.map((r) => r.length), 1);
    const width = Math.min(620, Math.max(canvas.parentElement.clientWidth - 4, 200));
    const height = Math.max(60, Math.min(620, width * map.queries / Math.max(map.keys, 1)));
    const scale = setSize(canvas, width, height);
    const paint = canvas.getContext("2d");
    const w = canvas.width / columns, h = canvas.height / rows, gap = Math.min(w, h) > 7 ? 1 : 0;
    const counts = {};
    paint.fillStyle = colour("gap"); paint.fillRect(0, 0, canvas.width, canvas.height);
    map.rows.forEach((row, i) => [...row].forEach((code, j) => {
      counts[code] = (counts[code] || 0) + 1;
      paint.fillStyle = colour(CODES[code][0]);
      const x = Math.round(j * w), y = Math.round(i * h);
      paint.fillRect(x, y, Math.max(Math.round((j + 1) * w) - x - gap, 1), Math.max(Math.round((i + 1) * h) - y - gap, 1));
    }));
    paint.fillStyle = colour("panel");
    const dot = Math.max(Math.min(w, h) / 5, 2);
    for (const [i, j] of pairs.scored(+pick.value || 0))
      paint.fillRect(Math.round(j * w + w / 2 - dot / 2), Math.round(i * h + h / 2 - dot / 2), dot, dot);
    if (marked) {
      paint.strokeStyle = colour("text"); paint.lineWidth = 2 * scale;
      paint.strokeRect(marked.j * w, marked.i * h, w, h);
    }
    const total = Object.values(counts).reduce((a, b) => a + b, 0);
    const processed = total - [0, 1, 2].reduce((sum, code) => sum + (counts[code] || 0), 0);
    legend.replaceChildren(make("tr", {}, make("th", {textContent: `blocks of ${map.block[0]} queries by ${map.block[1]} keys`}), make("th", {className: "n", textContent: "blocks"}), make("th", {className: "n", textContent: "share"})),
      ...[8, 4, 5, 3, 0, 1, 2, 6, 7].filter((code) => counts[code]).map((code) => make("tr", {},
        make("td", {}, make("span", {className: "swatch", style: `background:var(--${CODES[code][0]})`}), CODES[code][1]),
        make("td", {className: "n", textContent: counts[code]}), make("td", {className: "n", textContent: (100 * counts[code] / total).toFixed(1) + " %"}))),
      make("tr", {}, make("th", {textContent: "processed"}), make("th", {className: "n", textContent: processed}), make("th", {className: "n", textContent: (100 * processed / total).toFixed(1) + " %"})));
    const blockAt = (event) => {
      const box = canvas.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left) / box.width * columns), i = Math.floor((event.clientY - box.top) / box.height * rows);
      return {i, j, code: (map.rows[i] || "")[j]};
    };
    canvas.onclick = (event) => {
      const at = blockAt(event);
      if (at.code === undefined) return;
      marked = at;
      pairs.show(+pick.value || 0, at.i, at.j);
      draw();
    };
    canvas.onmousemove = (event) => {
      const {i, j, code} = blockAt(event);
      if (code === undefined) return;
      const [m, n] = map.block;
      part("mapwhere").textContent = `queries ${i * m} to ${Math.min((i + 1) * m, map.queries) - 1}, keys ${j * n} to ${Math.min((j + 1) * n, map.keys) - 1}: ${CODES[code][1]}`;
    };
  }
  const start = () => {
    marked = pairs.first(+pick.value || 0);
    if (marked) pairs.show(+pick.value || 0, marked.i, marked.j);
    draw();
  };
  pick.onchange = start;
  redraw.push(draw);
  addEventListener("resize", draw);
  start();
}

// --- Pairs of a block ---------------------------------------------------------
async function unpackBytes(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
/** A number of few digits. */
const short = (x) => (Number.isFinite(x) ? String(+x.toPrecision(4)) : x > 0 ? "∞" : x < 0 ? "-∞" : "no number");
function pairsOfBlock({maps, elements: facts}, part) {
  const head = part("pairhead"), value = part("pairvalue"), canvas = part("pairs");
  const blobs = Promise.all([unpackBytes(facts.visible), unpackBytes(facts.changed)]);
  let now = null; // map, i, j
  let shown = null; // what is drawn: a function of row and column
  let isChosen = false; // whether the reader said what to colour: scores that are all the same show less than what counts
  value.append(make("option", {value: -1, textContent: "visibility"}));
  facts.scores.forEach((score, n) => value.append(make("option", {value: n, textContent: `score_mod(${score})`})));
  value.parentElement.hidden = !facts.scores.length;
  if (facts.scores.length) value.value = 0;
  const setsOf = (map) => facts.sets.filter((set) => set.map === map);
  /** The pairs of a block: whether they count and what becomes of each score; null where the page has none. */
  function read(set, map, bits, floats) {
    const [m, n] = map.block, place = `${now.i},${now.j}`, truth = map.rows[now.i][now.j] % 3;
    const number = set.visible[place], scores = set.changed[place], bytes = Math.ceil(m * n / 8), size = m * n;
    if (truth === 1 && number === undefined) return null;
    const counts = (i, j) => truth === 2 || (truth === 1 && bits[number * bytes + ((i * n + j) >> 3)] >> (7 - (i * n + j) % 8) & 1) === 1;
    return {counts, changed: scores === undefined ? null : (s, i, j) => floats[(scores * facts.scores.length + s) * size + i * n + j]};
  }
  function legend(range) {
    const swatch = (style, text) => make("span", {}, make("span", {className: "swatch", style}), text);
    const none = swatch("background:var(--none)", "masked");
    if (!range) return [swatch("background:var(--all)", "visible"), none];
    if (range.low === range.high) return [swatch("background:var(--all);opacity:.5", `${short(range.low)} in all visible pairs`), none];
    const ends = range.signed ? [`-${short(range.most)}`, "0", short(range.most)] : [short(range.low), short(range.high)];
    const colours = range.signed ? "var(--softmax), var(--panel), var(--all)" : "var(--panel), var(--all)";
    return [make("span", {textContent: ends[0]}), make("span", {className: "swatch", style: `width:9em;background:linear-gradient(90deg, ${colours})`}),
      make("span", {textContent: ends[ends.length - 1]}), none];
  }
  async function draw() {
    const [bits, floats] = (await blobs).map((blob, n) => (n ? new Float32Array(blob) : new Uint8Array(blob)));
    const map = maps[now.map], set = setsOf(now.map).find((one) => one.head === +head.value);
    const [m, n] = map.block, rows = Math.min(m, map.queries - now.i * m), columns = Math.min(n, map.keys - now.j * n);
    const pairs = set && read(set, map, bits, floats), score = pairs && pairs.changed ? +value.value : -1;
    part("pairblock").textContent = `Queries ${now.i * m} to ${now.i * m + rows - 1}, keys ${now.j * n} to ${now.j * n + columns - 1}: `
      + (!pairs ? "the page does not hold these pairs." : facts.scores.length && !pairs.changed ? CODES[map.rows[now.i][now.j]][1] + "; the page does not hold its scores." : CODES[map.rows[now.i][now.j]][1] + ".");
    canvas.hidden = !pairs;
    value.disabled = !pairs || !pairs.changed;
    part("pairlegend").replaceChildren();
    part("pairwhere").textContent = "";
    shown = pairs && {...pairs, rows, columns, map};
    if (!pairs) return;
    let low = Infinity, high = -Infinity;
    if (score >= 0)
      for (let i = 0; i < rows; ++i)
        for (let j = 0; j < columns; ++j) {
          const x = pairs.changed(score, i, j);
          if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
        }
    if (score >= 0 && low === high && !isChosen) { value.value = -1; return draw(); }
    const range = score < 0 || low > high ? null : {low, high, most: Math.max(-low, high), signed: low < 0 && low < high};
    const width = Math.min(360, Math.max(canvas.parentElement.clientWidth - 4, 200));
    setSize(canvas, width, Math.min(360, Math.max(60, width * rows / columns)));
    const paint = canvas.getContext("2d"), w = canvas.width / columns, h = canvas.height / rows, gap = Math.min(w, h) > 6 ? 1 : 0;
    const colours = Object.fromEntries(["none", "all", "softmax", "panel"].map((name) => [name, colour(name)]));
    for (let i = 0; i < rows; ++i)
      for (let j = 0; j < columns; ++j) {
        const x = Math.round(j * w), y = Math.round(i * h), cell = [x, y, Math.max(Math.round((j + 1) * w) - x - gap, 1), Math.max(Math.round((i + 1) * h) - y - gap, 1)];
        const counts = pairs.counts(i, j), changed = range && counts ? pairs.changed(score, i, j) : 0;
        paint.globalAlpha = 1;
        paint.fillStyle = !counts ? colours.none : range ? colours.panel : colours.all;
        paint.fillRect(...cell);
        if (!range || !counts) continue;
        paint.fillStyle = changed < 0 ? colours.softmax : colours.all;
        const share = range.signed ? Math.abs(changed) / range.most : (changed - low) / Math.max(high - low, 1e-30);
        paint.globalAlpha = range.signed || high > low ? Math.min(share || 0, 1) : 0.5;
        paint.fillRect(...cell);
      }
    part("pairlegend").replaceChildren(...legend(range));
  }
  canvas.onmousemove = (event) => {
    if (!shown) return;
    const box = canvas.getBoundingClientRect(), [m, n] = shown.map.block;
    const i = Math.floor((event.clientY - box.top) / box.height * shown.rows), j = Math.floor((event.clientX - box.left) / box.width * shown.columns);
    if (i < 0 || j < 0 || i >= shown.rows || j >= shown.columns) return;
    const counts = shown.counts(i, j);
    const scores = counts && shown.changed ? "; " + facts.scores.map((score, s) => `score_mod(${score}) = ${short(shown.changed(s, i, j))}`).join(", ") : "";
    part("pairwhere").textContent = `b ${shown.map.entry}, h ${head.value}, q ${now.i * m + i}, k ${now.j * n + j}: ${counts ? "visible" : "masked"}${scores}`;
  };
  head.onchange = draw;
  value.onchange = () => { isChosen = true; draw(); };
  redraw.push(() => now && draw());
  return {
    /** Blocks with scores. */
    scored: (map) => [...new Set(setsOf(map).flatMap((set) => Object.keys(set.changed)))].map((place) => place.split(",").map(Number)),
    /** The most mixed block that the mask cuts, else one with scores. */
    first(map) {
      const [set] = setsOf(map);
      if (!set) return null;
      const best = set.first || Object.keys(set.changed)[0] || "0,0";
      const [i, j] = best.split(",").map(Number);
      return maps[map].rows.length ? {i, j} : null;
    },
    show(map, i, j) {
      const sets = setsOf(map), chosen = head.value;
      now = {map, i, j};
      part("elements").hidden = !sets.length;
      if (!sets.length) return;
      head.replaceChildren(...sets.map((set) => make("option", {value: set.head, textContent: set.head})));
      if (sets.some((set) => String(set.head) === chosen)) head.value = chosen;
      head.parentElement.hidden = sets.length < 2;
      draw();
    },
  };
}

// --- Timeline -----------------------------------------------------------------
const KINDS = {
  copy_q: "copy of Q", copy_k: "copy of K", copy_v: "copy of V", copy_do: "copy of dO", copy: "other copies",
  qk: "Q K^T", pv: "P V", dp: "dO V^T", dv: "P^T dO", dk: "dS^T Q", dq: "dS K", softmax: "softmax",
  masked: "softmax with the mask", other: "other FP32/integer", load: "loads", store: "stores", wait: "waits",
};
/** Zooms of all variants, which go together; so do their scales. */
const zooms = [];
const mostClocks = () => Math.max(...data.variants.map((one) => (one.timeline ? one.timeline.clocks : 0)), 1);
function timeline({facts: {timeline: facts}, part}) {
  if (!facts) return;
  if (!facts.spans.length) { part("timeline").hidden = true; return; }
  const known = (kind) => (kind in KINDS ? kind : "copy");
  const lanes = facts.lanes, left = 104, height = 26, top = 22;
  const svg = (tag, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const used = new Set(facts.spans.map((span) => known(span.kind)));
  part("timelegend").replaceChildren(...Object.keys(KINDS).filter((kind) => used.has(kind)).map((kind) =>
    make("span", {}, make("span", {className: "swatch", style: `background:var(--${kind})`}), KINDS[kind])));
  const zoom = part("zoom");
  function draw() {
    const box = part("lanes"), shown = Math.max(box.clientWidth - left - 12, 200);
    const scale = shown / mostClocks() * zoom.value, width = facts.clocks * scale + left + 8;
    const picture = svg("svg", {width, height: top + lanes.length * height + 4, role: "img"});
    const step = [100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000].find((s) => s * scale > 70) || 200000;
    for (let t = 0; t <= facts.clocks; t += step) {
      const x = left + t * scale;
      picture.append(svg("line", {x1: x, x2: x, y1: top - 4, y2: top + lanes.length * height, stroke: "var(--line)"}));
      // A line so near the end has no room for its label.
      if (x + 3 + 8 * String(t).length <= width) picture.append(svg("text", {x: x + 3, y: 13, class: "faint"}, t));
    }
    picture.append(svg("text", {x: 6, y: 13, class: "faint"}, "clocks"));
    lanes.forEach((lane, n) => picture.append(svg("text", {x: 6, y: top + n * height + 16}, lane)));
    // Copies overlap: they are drawn in slim rows, one below the other.
    const rows = {};
    for (const span of facts.spans) {
      const lane = lanes.indexOf(span.lane), kind = known(span.kind);
      let y = top + lane * height + 3, h = height - 6;
      if (span.lane === "copies") {
        const free = (rows.copies = rows.copies || [0, 0, 0, 0]);
        let row = free.findIndex((end) => end <= span.begin);
        if (row < 0) row = free.indexOf(Math.min(...free));
        free[row] = span.end;
        h = (height - 6) / 4; y += row * h; h -= 0.5;
      }
      const rect = svg("rect", {x: left + span.begin * scale, y, width: Math.max((span.end - span.begin) * scale - 0.4, 0.6), height: h, fill: `var(--${kind})`});
      rect.append(svg("title", {}, `${span.text}\n${Math.round(span.begin)} to ${Math.round(span.end)}: ${Math.round(span.end - span.begin)} clocks`));
      picture.append(rect);
    }
    box.replaceChildren(picture);
  }
  zooms.push({zoom, draw});
  zoom.oninput = () => zooms.forEach((one) => { one.zoom.value = zoom.value; one.draw(); });
  redraw.push(draw);
  addEventListener("resize", draw);
  draw();
}

// --- IR -----------------------------------------------------------------------
const TOPICS = {
  products: /\battn\.forward\b|\btile\.dot\b|\bwarp\.dot(_into)?\b|wgmma\.mma_async|\bmma\.sync|mma\.m16n8k16|nvvm\.mma/,
  copies: /\btile\.load\b|\bwarp\.copy\b|cp\.async\.(bulk|cg|ca)|cp\.async\.bulk|cp\.async\.shared/,
  waits: /producer_acquire|producer_commit|consumer_(wait|release)|dot_wait|(begin|end)_turn|mbarrier|\bbar\.|barrier|wait_group|fence/,
  "special functions": /math\.(exp2|exp|tanh|log2|rsqrt)|ex2\.approx|tanh\.approx|lg2\.approx|arith\.divf|rcp\.approx/,
  masks: /arith\.(cmpi|cmpf|select)\b|\bsetp\.|\bselp\.|\bicmp\b|\bfcmp\b|llvm\.(icmp|fcmp|select)/,
  reductions: /tile\.reduce|shfl\.sync|redux|warp\.any|vote\./,
  stores: /tile\.store|st\.global|st\.shared|nvvm\.stmatrix|stmatrix/,
  loops: /scf\.(for|while|if|condition)|\bbra\b|\bbr i1\b|llvm\.cond_br|cf\.cond_br/,
};
const HUES = {products: "qk", copies: "copy_v", waits: "other", "special functions": "softmax", masks: "masked", reductions: "copy_q", stores: "store", loops: "copy"};
const escapeText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const decorate = (text) => escapeText(text)
  .replace(/(^\s*(?:\/\/|;).*$)/, '<span class="c">$1</span>')
  .replace(/(%[\w#.-]+)/g, '<span class="v">$1</span>')
  .replace(/(^\s*(?:&lt;?\S+ = )?|= )((?:attn|tile|warp|scf|arith|math|nvvm|llvm|gpu|vector|memref|tensor)\.[\w.]+)/g, '$1<span class="o">$2</span>');
const CONSTANT = /^\s*%\S+ = (arith\.constant|llvm\.mlir\.constant)\b/;
const unpack = async (packed) => new TextDecoder().decode(await unpackBytes(packed));
/** Lines as a tree: what is indented more belongs to the line above. */
function parse(text, places) {
  const lines = text.replace(/\n+$/, "").split("\n").map((line) => line.replace(/\t/g, "  ")), root = {children: [], indent: -1}, stack = [root];
  let size = 0;
  for (const [n, line] of lines.entries()) {
    if (!line.trim()) continue;
    const indent = line.search(/\S/), topic = Object.keys(TOPICS).find((name) => TOPICS[name].test(line));
    while (stack[stack.length - 1].indent >= indent) stack.pop();
    const node = {line, indent, topic, children: [], depth: stack.length - 1, number: ++size, place: places[n]};
    stack[stack.length - 1].children.push(node);
    stack.push(node);
  }
  const gather = (node) => {
    const result = [];
    for (const child of node.children) {
      gather(child);
      const last = result[result.length - 1];
      if (!CONSTANT.test(child.line)) result.push(child);
      else if (last && last.constants) last.children.push(child);
      else result.push({...child, line: " ".repeat(child.indent) + "// constants", constants: true, topic: undefined, place: -1, children: [child]});
    }
    node.children = result.map((child) => (child.constants && child.children.length < 4 ? child.children : [child])).flat();
  };
  gather(root);
  const count = (node) => (node.size = node.children.reduce((sum, child) => sum + 1 + count(child), 0));
  count(root);
  const gatherPlaces = (node) => {
    node.inside = new Set();
    for (const child of node.children) {
      gatherPlaces(child).forEach((place) => node.inside.add(place));
      if (child.place >= 0) node.inside.add(child.place);
    }
    return node.inside;
  };
  gatherPlaces(root);
  return root;
}
/** A level of a variant as a tree, read once. */
const trees = new Map();
function tree(facts, level) {
  const key = data.variants.indexOf(facts) + level;
  if (!trees.has(key))
    trees.set(key, Promise.all([unpack(facts.levels[level]), unpack(facts.places[level])])
      .then(([text, places]) => parse(text, places.split(" ").map(Number))));
  return trees.get(key);
}
let chosen = null;
function lineElement(node, open) {
  const long = node.line.length > 2000;
  const element = make("div", {className: "l" + (node.children.length ? " fold" + (open ? "" : " shut") : "")});
  element.innerHTML = decorate(long ? node.line.slice(0, 2000) + " ..." : node.line) + (node.children.length && !open ? ` <span class="more">... ${node.size} lines</span>` : "");
  element.node = node;
  if (node.topic) element.style.borderLeftColor = `var(--${HUES[node.topic]})`;
  return element;
}
function appendNode(parent, node, limits) {
  if (chosen) {
    const inside = (n) => n.topic === chosen || n.children.some(inside);
    if (!inside(node)) return;
    parent.append(lineElement(node, true));
    node.children.forEach((child) => appendNode(parent, child, limits));
    return;
  }
  const open = (node.depth < limits.depth && !node.constants) || node.size <= limits.size;
  const element = lineElement(node, open);
  parent.append(element);
  if (!node.children.length) return;
  const body = make("div");
  parent.append(body);
  const fill = () => node.children.forEach((child) => appendNode(body, child, limits));
  if (open) fill();
  element.onclick = () => {
    const shut = !element.classList.contains("shut");
    const fresh = lineElement(node, !shut);
    element.className = fresh.className; element.innerHTML = fresh.innerHTML;
    if (shut) body.replaceChildren(); else fill();
  };
}
/** Marks what comes from the line of the program that a line comes from, and shut lines that hide some of it. */
function markPlace(place) {
  for (const element of document.querySelectorAll(".ir .l")) {
    const {node} = element, isSame = place >= 0 && node.place === place;
    element.classList.toggle("same", isSame);
    element.classList.toggle("within", place >= 0 && !isSame && element.classList.contains("shut") && node.inside.has(place));
  }
  $("irplace").textContent = place >= 0 ? `; now ${data.places[place]}.` : ".";
}
function followPointer(panes) {
  let last = -1;
  for (const pane of panes) {
    const lines = pane.querySelector(".ir");
    lines.onmouseover = (event) => {
      const element = event.target.closest(".l"), place = element ? element.node.place : -1;
      if (place !== last) markPlace((last = place));
    };
    lines.onmouseleave = () => markPlace((last = -1));
  }
}
async function fillPane(pane) {
  const level = pane.querySelector("select").value, root = await tree(pane.facts, level), target = pane.querySelector(".ir");
  const list = make("div");
  root.children.forEach((node) => appendNode(list, node, {depth: level === "ptx" || level === "llvm" ? 0 : level === "attn" || level === "python" ? 9 : 3, size: 6}));
  target.replaceChildren(list);
  const counts = {};
  const walk = (node) => { if (node.topic) counts[node.topic] = (counts[node.topic] || 0) + 1; node.children.forEach(walk); };
  walk(root);
  pane.querySelector(".count").textContent = chosen ? `${counts[chosen] || 0} of ${root.size} lines` : `${root.size} lines`;
}
/** The same level in the first panes of all variants, if that is wanted. */
function followLevel(pane, firsts) {
  const level = pane.querySelector("select").value, follow = $("follow");
  if (!follow || !follow.checked || !firsts.includes(pane)) return [pane];
  return firsts.filter((other) => {
    if (!(level in other.facts.levels)) return false;
    other.querySelector("select").value = level;
    return true;
  });
}
function ir() {
  const panes = [], firsts = [];
  for (const {facts, root} of variants("ir"))
    [...root.querySelectorAll(".pane")].forEach((pane, n) => {
      const names = Object.keys(facts.levels), pick = pane.querySelector("select");
      pane.facts = facts;
      panes.push(pane);
      if (!n) firsts.push(pane);
      names.forEach((name) => pick.append(make("option", {value: name, textContent: name})));
      // The source, if it is there, and what it becomes first; of two variants the level where they part.
      pick.value = data.variants.length > 1 && !n ? "tile" : names[Math.min(n, names.length - 1)];
      pick.onchange = () => followLevel(pane, firsts).forEach(fillPane);
    });
  followPointer(panes);
  const topics = $("topics");
  for (const name of Object.keys(TOPICS)) {
    const button = make("button", {type: "button"}, make("span", {className: "swatch", style: `background:var(--${HUES[name]})`}), name);
    button.setAttribute("aria-pressed", "false");
    button.onclick = () => {
      chosen = chosen === name ? null : name;
      topics.querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", String(b === button && chosen === name)));
      panes.forEach(fillPane);
    };
    topics.append(button);
  }
  const section = $("ir"), start = () => { if (section.open && !section.dataset.done) { section.dataset.done = 1; panes.forEach(fillPane); } };
  section.addEventListener("toggle", start);
  start();
}
/** Which variants are shown: one, or both beside each other. */
function show() {
  const buttons = [...document.querySelectorAll("#show button")];
  for (const button of buttons)
    button.onclick = () => {
      document.body.dataset.show = button.dataset.show;
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      redraw.forEach((draw) => draw());
    };
}
show();
variants("blocks").forEach(blockMap);
variants("schedule").forEach(timeline);
ir();
