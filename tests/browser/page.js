// What the tests do inside JupyterLab's page. `jupyterapp` is there because the server was told to expose it.
window.lab = {
  /** The notebook in this page. */
  panel() {
    const app = window.jupyterapp;
    return app && [...app.shell.widgets("main")].find((widget) => widget.context && widget.content?.widgets);
  },

  /** Opens a notebook in the place of all that is open. */
  async open(path) {
    const app = window.jupyterapp;
    const opened = await app.commands.execute("docmanager:open", { path });
    for (const widget of [...app.shell.widgets("main")]) if (widget !== opened) widget.dispose();
  },

  /** Closes the notebook, saved or not; false when that does not make the page as good as new. */
  leave() {
    if (document.querySelector(".jp-Dialog")) return false;
    for (const widget of [...window.jupyterapp.shell.widgets("main")]) widget.dispose();
    Object.assign(lab, { done: {}, heard: [], places: [], followed: [] });
    return true;
  },

  /** Has JupyterLab, which is about to be loaded, open notebooks without a kernel, as where nobody can run them. */
  startNoKernel() {
    const before = '"notebookStartsKernel": true';
    new MutationObserver((_, observer) => {
      const settings = document.getElementById("jupyter-config-data");
      if (!settings?.textContent.includes(before)) return;
      settings.textContent = settings.textContent.replace(before, '"notebookStartsKernel": false');
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  },

  kernel() {
    return lab.panel()?.sessionContext.session?.kernel ?? null;
  },

  /** Whether the notebook is there. */
  isShown() {
    return Boolean(lab.panel()?.context.isReady && document.querySelector(".jp-Notebook .jp-Cell"));
  },

  /** Whether it can be run, too. */
  isOpen() {
    return lab.isShown() && lab.kernel()?.status === "idle" && lab.kernel().connectionStatus === "connected";
  },

  isTrusted() {
    const { cells } = lab.panel().content.model;
    return [...cells].every((cell) => cell.type !== "code" || cell.trusted);
  },

  done: {},

  /** Runs a cell; `done[cell]` is true when the kernel has answered. */
  start(cell) {
    const { content } = lab.panel();
    lab.done[cell] = false;
    content.deselectAll();
    content.activeCellIndex = cell;
    window.jupyterapp.commands.execute("notebook:run-cell").finally(() => {
      lab.done[cell] = true;
    });
  },

  /** Whether nothing of a cell's outputs can be seen. */
  isOutOfSight(cell) {
    const { top } = lab.panel().content.widgets[cell].outputArea.node.getBoundingClientRect();
    return top > window.innerHeight;
  },

  outputs(cell) {
    return lab.panel().content.widgets[cell].model.outputs.toJSON();
  },

  /** Does what a menu does, with `cell` as the active one. */
  async command(name, cell) {
    const { content } = lab.panel();
    content.deselectAll();
    content.activeCellIndex = cell;
    await window.jupyterapp.commands.execute(name);
  },

  /** Whether the notebook has changes that are not in the file. */
  isChanged() {
    return lab.panel().context.model.dirty;
  },

  async save() {
    await lab.panel().context.save();
  },

  /** Evaluates an expression in the kernel, between two cells; returns what Python's repr makes of it. */
  async evaluate(expression) {
    const content = { code: "", silent: true, user_expressions: { value: expression } };
    const reply = await lab.kernel().requestExecute(content).done;
    const { value } = reply.content.user_expressions;
    if (value.status !== "ok") throw new Error(`${expression}: ${value.ename}: ${value.evalue}`);
    return value.data["text/plain"];
  },

  /** What keeps the widgets, found where the notebook's outputs find it. */
  widgetManager() {
    return lab.panel().content.rendermime.createRenderer("application/vnd.jupyter.widget-view+json")._manager.promise;
  },

  /** A widget's model. */
  async model(id) {
    return (await lab.widgetManager()).get_model(id);
  },

  /** How many models of widgets and open comms there are in the page. */
  async widgetCount() {
    return { models: Object.keys((await lab.widgetManager())._models).length, comms: lab.kernel()._comms.size };
  },

  /** Takes one of the two roads to the kernel away: `comm` for one widget, `control` for all of ours. */
  async close(road, id) {
    const refuse = () => {
      throw new Error(`the test has closed this road: ${road}`);
    };
    if (road === "comm") (await lab.model(id)).comm.send = refuse;
    else {
      const kernel = lab.kernel();
      const send = kernel.sendControlMessage.bind(kernel);
      kernel.sendControlMessage = (message, ...how) =>
        message.header.msg_type.startsWith("agentcell") ? refuse() : send(message, ...how);
    }
  },

  heard: [],

  /** Keeps in `heard`, from now on, the custom messages that widgets get, and that an output was replaced. */
  listen() {
    lab.kernel().iopubMessage.connect((_, { header, content }) => {
      if (header.msg_type === "update_display_data") lab.heard.push({ type: header.msg_type });
      else if (header.msg_type === "comm_msg" && content.data.method === "custom") lab.heard.push(content.data.content);
    });
  },

  places: [],
  followed: [],

  /** Keeps where the upper edges of elements are, in every frame in which they moved, in `places`; null for one that is missing. */
  follow(selectors) {
    lab.places = [];
    lab.followed = selectors;
    const look = () => {
      if (lab.followed !== selectors) return;
      const now = selectors.map((selector) => document.querySelector(selector)?.getBoundingClientRect().top ?? null);
      if (`${now}` !== `${lab.places.at(-1)}`) lab.places.push(now);
      requestAnimationFrame(look);
    };
    look();
  },
};
