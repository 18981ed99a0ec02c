/* Built from js/src. */
var ACTION_MESSAGE = "agentcell_action", VIEW_KEYS = ["run_id", "protocol", "seq", "task", "live_steps", "expand", "status", "outcome", "clock", "elapsed_seconds", "title", "facts", "status_line", "sentence", "stop", "questions", "steps", "blocks", "trace"];
function newId() {return crypto.getRandomValues(new Uint32Array(4)).join("-")}
function sendAction(model, act) {
let action = { ...act, id: newId() };
attempt(() => model.send(action)), attempt(() => {
	let kernel = model.widget_manager?.kernel, content = { run_id: model.get("run_id"), action };
	kernel?.sendControlMessage?.({ header: { msg_id: newId(), session: kernel.clientId ?? "", username: kernel.username ?? "", msg_type: ACTION_MESSAGE, version: "5.3", date: (new Date()).toISOString() }, parent_header: {}, metadata: {}, content, buffers: [], channel: "control" }, false, true);
});
}
function attempt(act) {
try {act()} catch (error) {console.debug("agentcell: not in this host", error)}
}
var now = () => performance.now(), Clock = class {
running = false;
#elapsed = 0;
#anchor = 0;
#shown = 0;
set(elapsed, running) {this.#elapsed = elapsed, this.#anchor = now() - elapsed * 1e3, this.running = running}
read() {return this.running ? (this.#shown = Math.max(this.#shown, (now() - this.#anchor) / 1e3), this.#shown) : this.#elapsed}
};
var ENDED = /dead|restarting/, GONE = /dead|restarting|terminating|connecting|disconnected/;
function kernelIs(gone, model) {
try {
	let kernel = model.widget_manager?.kernel;
	return kernel === null || gone.test(`${kernel?.status} ${kernel?.connectionStatus}`);
} catch {return false}
}
function make(name, className, ...children) {
let element = document.createElement(name);
return className && (element.className = className), element.append(...children), element;
}
function button(className, ...children) {
let element = make("button", className, ...children);
return element.type = "button", element;
}
function expand(element, open) {
element?.setAttribute("aria-expanded", `${open}`);
}
function words(className) {return make("span", className, "")}
function setText(element, text) {
let node = element.firstChild;
node.data !== text && (node.data = text);
}
function setWords(element, text) {text.includes("`") || element.childElementCount ? element.replaceChildren(...codeMarked(text)) : setText(element, text)}
function codeMarked(text) {return text.split(/`([^`]+)`/).map((part, place) => place % 2 ? make("code", "", part) : part)}
function clockText(seconds) {
let whole = Math.max(0, Math.trunc(seconds)) || 0;
if (whole < 60) return `${whole}s`;
let minutes = Math.trunc(whole / 60);
return minutes < 60 ? `${minutes}m ${whole % 60}s` : `${Math.trunc(minutes / 60)}h ${minutes % 60}m`;
}
function shortDurationText(seconds) {
return seconds >= 0.05 ? seconds >= 9.95 ? clockText(seconds) : `${(seconds % 1 === 0.25 ? seconds - 0.01 : seconds).toFixed(1)}s` : "";
}
function faint({ detail, elapsed }, seconds) {
let time = elapsed !== null ? shortDurationText(seconds) : seconds >= 1 ? clockText(seconds) : "";
return detail || time ? ` ${detail}${detail && time && " · "}${time}` : "";
}
var Row = class {
element = make("li", "");
#head;
#body;
#placed = "";
#under;
update(step, seconds, open) {
	let name = step.body ? "button" : "div";
	this.element.className = `ac-${step.state} ac-${step.kind}`, this.#head?.localName !== name && this.#behead(step.id, name), setWords(this.#head?.firstChild, step.text), this.tick(step, seconds), open && step.body ? this.#place(step.body) : (this.#body?.remove(), this.#body = void 0), step.body && expand(this.#head, open);
}
tick(step, seconds) {setWords(this.#head?.lastChild, faint(step, seconds))}
append(html2) {return this.#body?.insertAdjacentHTML("beforeend", html2), this.#body !== void 0}
get under() {return this.#under ??= this.element.appendChild(make("div", "ac-under")), this.#under}
#behead(id, name) {
	this.#head?.remove(), this.#head = make(name, "ac-row", words("ac-text"), words("ac-faint")), this.#head.dataset.row = `${id}`, this.element.prepend(this.#head);
}
#place(html2) {
	this.#body && html2 === this.#placed || (this.#body ??= make("div", "ac-body"), this.#body.innerHTML = html2, this.#placed = html2, this.#head?.after(this.#body));
}
};
function lastSeen(store) {
let { steps, blocks } = store.view, list = make("ul", ""), answer = html(blocks.join("")), rows = [], text = `Kernel lost · last seen at ${clockText(store.seen)}`, page = make("div", "agentcell-snapshot mathjax_ignore tex2jax_ignore", make("b", "", text), list, answer), left = 12e4;
for (let step of steps.slice(-500)) {
	let line = step.text + faint(step, store.rowSeconds(step)).replace(" ", " — "), words2 = codeMarked(line), row = make("li", "");
	text += `
• ${line}`, left -= step.body.length, step.body && left > 0 ? row.append(make("details", "", make("summary", "", ...words2), html(step.body))) : row.append(...words2), (rows[step.parent ?? -1]?.appendChild(make("ul", "")) ?? list).append(row), rows[step.id] = row;
}
return { output_type: "display_data", data: { "text/html": page.outerHTML, "text/plain": `${text}

${answer.textContent}` }, metadata: {} };
}
function html(text) {
let element = make("div", "");
return element.innerHTML = text, element;
}
function readView(model) {return Object.fromEntries(VIEW_KEYS.map((key) => [key, model.get(key)]))}
function replaceOutputs(model, { output, quiet }) {
attempt(() => {
	let notebook = model.widget_manager?.context?.model, { cells, dirty } = notebook;
	for (let { outputs } of cells) outputs?.toJSON().forEach(({ data }, place) => {data?.["application/vnd.jupyter.widget-view+json"]?.model_id === model.get("run_id") && outputs.set(place, output)});
	quiet && (notebook.dirty = dirty);
});
}
var NO_CHANGE = { steps: [], texts: new Map(), blocks: [] };
function applyPatch(view, patch) {
Object.assign(view, patch.header), view.trace = patch.trace ?? view.trace;
let steps = patch.steps ?? [];
for (let step of steps) {
	if (step.id > view.steps.length) throw new RangeError();
	view.steps[step.id] = step;
}
let ids = steps.map((step) => step.id), texts = new Map();
for (let { id, html: html2 } of patch.texts ?? []) {
	let step = view.steps[id];
	if (!step) throw new RangeError();
	step.body += html2, ids.includes(id) || texts.set(id, (texts.get(id) ?? "") + html2);
}
view.blocks.splice(patch.blocks_count ?? 1 / 0);
let blocks = (patch.blocks ?? []).map((block) => setBlock(view.blocks, block));
for (let html2 of patch.blocks_added ?? []) blocks.push(view.blocks.push(html2) - 1);
return { steps: ids, texts, blocks };
}
function setBlock(blocks, { id, keep, html: html2 }) {
let old = blocks[id];
if (old === void 0 || keep > old.length) throw new RangeError();
return blocks[id] = old.slice(0, keep) + html2, id;
}
var Tree = class {
running = new Map();
#under = new Map();
#count = 0;
reset(steps, began) {
	this.#under.clear(), this.#count = 0;
	for (let id of this.running.keys()) steps[id]?.state !== "running" && this.running.delete(id);
	for (let step of steps) this.set(step, began);
}
set(step, began) {
	if (step.id >= this.#count) {
		this.#count = step.id + 1;
		let siblings = this.#under.get(step.parent);
		siblings ? siblings.push(step.id) : this.#under.set(step.parent, [step.id]);
	}
	step.state !== "running" ? this.running.delete(step.id) : this.running.has(step.id) || this.running.set(step.id, began(step));
}
live({ steps, live_steps }, opened) {
	let seen = new Set(), newest = (parent) => {for (let id of this.#under.get(parent)?.slice(-live_steps || 1 / 0) ?? []) add(steps, id, seen)};
	newest(null);
	for (let id of [...this.running.keys()].slice(-12)) add(steps, id, seen), newest(id);
	for (let id of opened) add(steps, id, seen);
	return inOrder(seen);
}
};
function kept({ steps, outcome, live_steps }, opened) {
let seen = new Set();
for (let id of opened) add(steps, id, seen);
if (outcome === "failed" || outcome === "cancelled") for (let { id } of steps.filter((step) => step.state === "failed").slice(-live_steps || 1 / 0)) add(steps, id, seen);
return inOrder(seen);
}
function add(steps, id, seen) {for (let row = steps[id]; row && !seen.has(row.id); row = steps[row.parent ?? -1]) seen.add(row.id)}
function inOrder(ids) {return [...ids].sort((a, b) => a - b)}
var Store = class {
view;
clock = new Clock();
tree = new Tree();
reader = { open: null, all: false, rows: new Set(), trace: "" };
lost = false;
seen = 0;
model;
#drawn = new Set();
#listeners;
#heard = now();
#checked = 0;
#timer;
#cutOff = false;
#writing = false;
#stale = false;
#newest = 0;
#retry;
constructor(model) {
	this.model = model, this.view = readView(model), this.#read(), this.#listeners = [["msg:custom", (message) => this.#receive(message)], ["comm_live_update", () => this.#end()], ...VIEW_KEYS.map((key) => [`change:${key}`, () => this.#changed()])];
	for (let [event, callback] of this.#listeners) model.on(event, callback);
}
dispose() {
	for (let [event, callback] of this.#listeners) this.model.off(event, callback);
	this.#drawn.clear(), this.#schedule(), clearTimeout(this.#retry), this.#stale = false;
}
add(drawn) {this.#drawn.add(drawn), this.#schedule()}
remove(drawn) {this.#drawn.delete(drawn), this.#schedule()}
get working() {return this.view.status === "idle" || this.view.status === "reasoning"}
get shown() {
	let { open, all } = this.reader, { expand: expand2 } = this.view;
	return open ?? (expand2 === "open" || expand2 === "auto" && this.working) ? all || expand2 === "open" ? "all" : "live" : open === null && expand2 === "auto" ? "kept" : "none";
}
rowSeconds(step) {
	let until = this.lost ? this.#heard : now();
	return step.elapsed ?? Math.max(0, until - (this.tree.running.get(step.id) ?? 1 / 0)) / 1e3;
}
openBlock(open) {
	this.reader.open = open, this.reader.all ||= open, this.send({ type: "open", row: null, open }), this.#draw(null);
}
openRow(row, open) {
	open ? this.reader.rows.add(row) : this.reader.rows.delete(row), this.send({ type: "open", row, open }), this.#draw({ ...NO_CHANGE, steps: [row] });
}
stop() {
	this.send({ type: "stop", again: this.view.stop === "stopping" }), this.view.stop = "stopping", this.#draw(NO_CHANGE);
}
cutOff() {this.#cutOff = true, this.#look()}
send(act) {sendAction(this.model, act)}
#draw(change) {
	this.#schedule();
	for (let drawn of this.#drawn) drawn.update(change);
}
#receive(message) {
	let type = message?.type;
	if (type === "end" && replaceOutputs(this.model, message), type !== "patch" && type !== "heartbeat") return;
	this.#catchUp(), this.#hear();
	let { seq } = this.view;
	message.seq > this.#newest && (this.#newest = message.seq);
	let change = NO_CHANGE;
	type === "heartbeat" ? this.#beat(message.elapsed_seconds) : message.seq === seq + 1 && (change = this.#apply(message)), this.seen = this.clock.read();
	let found = this.#judge();
	(change !== NO_CHANGE || found) && this.#draw(change), this.#newest > this.view.seq && this.#retry === void 0 && this.#resync(2e3);
}
#hear() {this.#heard = now(), this.#cutOff = false}
#beat(elapsed) {
	this.view.elapsed_seconds = elapsed, this.#write(["elapsed_seconds"]), this.clock.set(elapsed, this.view.clock === "running");
}
#apply({ seq, patch }) {
	let { view, model } = this;
	view.steps = model.get("steps"), view.blocks = model.get("blocks");
	let change;
	try {change = applyPatch(view, patch)} catch (error) {return console.warn("agentcell: a patch did not fit", error), NO_CHANGE}
	view.seq = seq;
	let header = Object.keys(patch.header ?? {});
	this.#write([...header, "seq", "trace"]);
	for (let id of change.steps) this.tree.set(view.steps[id], () => this.#heard);
	return patch.header && this.clock.set(view.elapsed_seconds, view.clock === "running"), change;
}
#write(keys) {
	this.#writing = true;
	for (let key of keys) this.model.set(key, this.view[key]);
	this.#writing = false;
}
#changed() {this.#writing || this.#stale || (this.#stale = true, queueMicrotask(() => this.#catchUp()))}
#catchUp() {
	this.#stale && (this.#stale = false, this.view = readView(this.model), this.#hear(), this.#read(), this.view.seq >= this.#newest && (clearTimeout(this.#retry), this.#retry = void 0), this.#judge(), this.#draw(null));
}
#read() {
	let { view, clock } = this;
	this.#newest = Math.max(this.#newest, view.seq), clock.set(view.elapsed_seconds, view.clock === "running"), this.seen = clock.read(), this.tree.reset(view.steps, (step) => now() - Math.max(0, this.seen - step.started) * 1e3);
}
#resync(wait) {
	this.send({ type: "resync" }), this.#retry = setTimeout(() => this.#resync(Math.min(wait * 2, 3e4)), wait);
}
get #underWay() {return this.view.status === "reasoning" || this.view.status === "collapsed"}
#schedule() {
	let on = this.#drawn.size > 0 && this.#underWay;
	on !== (this.#timer !== void 0) && (clearInterval(this.#timer), this.#timer = on ? setInterval(() => this.#tick(), 250) : void 0);
}
#tick() {
	if (now() - this.#checked >= 1e3 && (this.#checked = now(), this.#look()), !this.lost && this.clock.running) for (let drawn of this.#drawn) drawn.tick();
}
#look() {kernelIs(ENDED, this.model) && this.#end(), this.#judge() && this.#draw(NO_CHANGE)}
#end() {
	this.#cutOff || (this.cutOff(), this.lost && replaceOutputs(this.model, { output: lastSeen(this), quiet: false }));
}
#judge() {
	let silent = this.clock.running && now() - this.#heard > 2e4, lost = this.#underWay && (this.#cutOff || silent || kernelIs(GONE, this.model)), news = lost !== this.lost;
	return this.lost = lost, news;
}
};
var Answer = class {
element = make("div", "ac-answer");
#placed = [];
update(blocks, changed) {
	for (; this.#placed.length > blocks.length; ) this.#placed.pop(), this.element.lastElementChild?.remove();
	for (let id of changed ?? blocks.keys()) {
		let html2 = blocks[id];
		if (html2 === void 0 || html2 === this.#placed[id]) continue;
		let block = this.element.children[id] ?? this.element.appendChild(make("div", "ac-block"));
		block.innerHTML = html2, this.#placed[id] = html2;
	}
	this.element.hidden = blocks.length === 0;
}
};
var Questions = class {
element = make("div", "ac-asks");
#store;
#answered;
constructor(store, answered) {this.#store = store, this.#answered = answered}
update(questions) {
	let boxes = [...this.element.children];
	for (let box of boxes) questions.some((one) => one.id === box.name) || box.remove();
	for (let question of questions) boxes.some((box) => box.name === question.id) || this.#ask(question);
}
#ask({ id, text, choices, words: words2 }) {
	let box = make("fieldset", "", make("legend", "", text)), add2 = (label, answer2) => {
		let element = button("", label);
		element.onclick = answer2, box.append(element);
	}, answer = (choice, text2 = "") => {
		box.disabled = true, this.#store.send({ type: "answer", question: id, choice, text: text2 }), this.#answered();
	};
	box.name = id;
	for (let [place, choice] of choices.entries()) add2(choice, () => answer(place));
	if (words2) {
		let field = make("input", ""), send = (event) => {field.value && (event.preventDefault(), answer(null, field.value))};
		field.ariaLabel = field.placeholder = "Answer in words", field.onkeydown = (event) => {event.key === "Enter" && !event.isComposing && send(event)}, box.append(field), add2("Send", send);
	}
	this.element.append(box);
}
};
var Follow = class {
#list;
#atEnd = true;
constructor(list) {this.#list = list, list.onscroll = () => this.#look()}
pause(act) {this.#atEnd = false, act(), this.#look()}
start(atEnd) {this.#atEnd = atEnd, this.#list.scrollTop = 0}
keep() {this.#atEnd && (this.#list.scrollTop = this.#list.scrollHeight)}
#look() {
	let { scrollHeight, scrollTop, clientHeight } = this.#list;
	this.#atEnd = scrollHeight - scrollTop - clientHeight < 16;
}
};
var Rows = class {
element;
#store;
#earlier = button("ac-earlier", "");
#list = make("div", "ac-list");
#follow = new Follow(this.#list);
#rows = new Map();
#shown = "none";
#last = -1;
#filling;
constructor(store, id) {
	this.#store = store, this.element = make("div", "ac-steps", this.#earlier, this.#list), this.element.id = id, this.element.hidden = true, this.#earlier.onclick = () => {
		store.openBlock(true), this.#list.focus({ preventScroll: true });
	}, this.#list.onclick = (event) => {
		let row = event.target.closest("button.ac-row")?.dataset.row;
		row && this.#follow.pause(() => store.openRow(+row, !store.reader.rows.has(+row)));
	};
}
update(change) {
	let { view, tree, reader, shown } = this.#store;
	if (shown !== this.#shown && (this.#turn(shown), change = null), shown === "none" || change && !change.steps.length && !change.texts.size) return;
	shown === "live" ? this.#window(tree.live(view, reader.rows), change) : shown === "kept" ? this.#window(kept(view, reader.rows), change) : this.#fill(change ? change.steps : this.#rows.keys(), 100);
	for (let [id, text] of change?.texts ?? []) this.#rows.get(id)?.append(text) === false && this.#draw(id);
	let hidden = view.steps.length - this.#rows.size;
	this.#earlier.hidden = shown !== "live" || hidden === 0, setText(this.#earlier, `${hidden} earlier step${hidden === 1 ? "" : "s"}`), this.#follow.keep();
}
tick() {
	for (let id of this.#store.tree.running.keys()) {
		let step = this.#store.view.steps[id];
		step && this.#rows.get(id)?.tick(step, this.#store.rowSeconds(step));
	}
}
dispose() {clearTimeout(this.#filling)}
#turn(shown) {
	this.#shown = shown, this.#clear(), this.element.hidden = shown === "none", this.element.dataset.shown = shown, this.#list.tabIndex = shown === "all" ? 0 : -1, this.#follow.start(this.#store.working);
}
#window(ids, change) {
	let wanted = new Set(ids);
	for (let [id, row] of this.#rows) wanted.has(id) || (row.element.remove(), this.#rows.delete(id));
	ids.some((id) => id < this.#last && !this.#rows.has(id)) && this.#clear();
	for (let id of ids) (!change || change.steps.includes(id) || !this.#rows.has(id)) && this.#draw(id);
}
#fill(changed, slice) {
	let { steps } = this.#store.view;
	for (let id of changed) id <= this.#last && this.#draw(id);
	clearTimeout(this.#filling);
	let end = now() + slice;
	for (; this.#last + 1 < steps.length; ) if (this.#draw(this.#last + 1), !(this.#last % 100 || now() < end)) {
		this.#filling = setTimeout(() => {this.#fill([], 40), this.#follow.keep()}, 0);
		break;
	}
}
#draw(id) {
	let step = this.#store.view.steps[id];
	if (!step) return;
	let known = this.#rows.get(id), row = known ?? new Row();
	if (row.update(step, this.#store.rowSeconds(step), this.#store.reader.rows.has(id)), known) return;
	this.#rows.set(id, row), this.#last = Math.max(this.#last, id);
	let place = step.parent !== null && this.#rows.get(step.parent)?.under || this.#list, group = place.lastElementChild;
	(!group || group.childElementCount >= 100) && (group?.classList.add("ac-full"), group = place.appendChild(make("ul", "ac-group"))), group.append(row.element);
}
#clear() {clearTimeout(this.#filling), this.#list.replaceChildren(), this.#rows.clear(), this.#last = -1}
};
var DELAYS = [0, 0.12, 0.24, 0.6, 0.48, 0.36], SIGNS = { running: "", waiting: "◆", failed: "✕", cancelled: "■", limited: "■", lost: "○" };
function dot(delay) {
let element = make("i", "");
return element.style.animationDelay = `${delay}s`, element;
}
var CellView = class {
#store;
#id = `ac-${newId()}`;
#root = make("div", "agentcell");
#sign = words("");
#icon = make("span", "ac-icon", this.#sign, ...DELAYS.map(dot));
#title = words("ac-title");
#time = words("ac-time");
#header = button("ac-head", this.#icon, this.#title, this.#time);
#stop = button("ac-stop", "");
#line = make("div", "ac-line");
#questions;
#said = "";
#rows;
#answer = new Answer();
#trace = make("div", "");
#placed = "";
constructor(store, place) {
	this.#store = store, this.#rows = new Rows(store, this.#id), this.#questions = new Questions(store, () => this.#header.focus({ preventScroll: true })), this.#icon.ariaHidden = "true", this.#header.setAttribute("aria-controls", this.#id), this.#header.onclick = () => store.openBlock(this.#header.getAttribute("aria-expanded") !== "true"), this.#stop.onclick = ({ detail }) => detail > 1 || store.stop(), this.#line.role = "status", this.#line.setAttribute("aria-live", "polite"), this.#root.role = "group", this.#root.addEventListener("focusin", ({ target }) => target.toggleAttribute("data-lm-suppress-shortcuts", target.matches(":focus-visible"))), this.#trace.addEventListener("toggle", () => store.reader.trace = this.#trace.innerHTML, true), this.#root.append(make("div", "ac-top", this.#header, this.#stop), this.#line, this.#questions.element, this.#rows.element, this.#answer.element, this.#trace), this.update(null), place.append(this.#root), store.add(this), place.closest(".jupyter-widgets-disconnected") && store.cutOff(), store.send({ type: "hello", view: this.#id });
}
dispose() {
	this.#store.send({ type: "left", view: this.#id }), this.#store.remove(this), this.#rows.dispose(), this.#root.remove();
}
update(change) {
	let { view, shown, lost } = this.#store;
	this.#header.title = view.task, this.#root.ariaLabel = view.task || "Agent run";
	let state = this.#state();
	this.#root.dataset.state = state, this.#header.toggleAttribute("data-sign", state in SIGNS), setText(this.#sign, SIGNS[state] ?? ""), this.#header.hidden = !view.title, this.#header.disabled = view.steps.length === 0, expand(this.#header, shown === "live" || shown === "all"), this.#say(lost ? "No answer from the kernel" : view.sentence || view.status_line), this.tick(), this.#questions.update(view.questions), this.#questions.element.hidden = lost, this.#rows.update(change), this.#answer.update(view.blocks, change?.blocks), view.trace !== this.#placed && (this.#placed = view.trace, this.#trace.innerHTML = this.#store.reader.trace || view.trace);
}
tick() {this.#head(), this.#rows.tick()}
#state() {
	let { lost, clock, view } = this.#store;
	return lost ? "lost" : view.status === "complete" ? view.outcome ?? "answered" : clock.running ? "running" : view.status === "reasoning" ? "waiting" : view.status;
}
#head() {
	let { view, lost, seen, clock } = this.#store, state = this.#root.dataset.state, time = view.facts;
	lost ? time = `last seen at ${clockText(seen)}` : state === "running" ? time = clockText(clock.read()) : state === "waiting" && (time = `${clockText(clock.read())} thought so far`);
	let stopping = view.stop === "stopping";
	setText(this.#title, lost ? "Kernel lost" : stopping ? "Stopping…" : view.title), this.#stop.hidden = lost || view.stop === "none", setText(this.#stop, stopping ? "■ Interrupt" : "■ Stop"), this.#stop.title = this.#stop.ariaLabel = stopping ? "Interrupt the kernel" : "Stop the run", setText(this.#time, time && ` · ${time}`);
}
#say(line) {line !== this.#said && (this.#said = line, this.#line.replaceChildren(...codeMarked(line)))}
};
var stores = new Set();
function initialize({ model, signal }) {
let store = new Store(model);
return stores.add(store), onEnd(signal, () => {stores.delete(store), store.dispose()});
}
function render({ model, el, signal }) {
let steps = model.get("steps"), store = [...stores].find((one) => one.model.get("steps") === steps);
if (!store) throw new Error("agentcell: no open model");
let view = new CellView(store, el);
return onEnd(signal, () => view.dispose());
}
function onEnd(signal, end) {return signal?.addEventListener("abort", end), end}
export default { initialize, render };
