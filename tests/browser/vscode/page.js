// A page with VS Code's own widget manager and a live kernel, without the rest of VS Code.
// `vscode.open(kernel, theme)` starts it, `vscode.start(code)` runs code, and its outputs are drawn as VS Code draws them: by the
// first kind of data that can be drawn, widgets before HTML before text.

import { KernelManager, ServerConnection } from "@jupyterlab/services";

const LIBRARY = "node_modules/@vscode/jupyter-ipywidgets8/dist/ipywidgets.js";
const WIDGET = "application/vnd.jupyter.widget-view+json";

class Outputs {
  #kernel;
  #manager;
  #updatable = new Map(); // by display id

  constructor(kernel, manager) {
    this.#kernel = kernel;
    this.#manager = manager;
  }

  /** Draws what a message brings, in the place of what it replaces. */
  async take({ header, content }) {
    if (header.msg_type === "update_display_data") {
      await this.#draw(this.#updatable.get(content.transient.display_id), content.data);
    } else if (header.msg_type === "display_data") {
      const place = document.body.appendChild(document.createElement("div"));
      if (content.transient?.display_id) this.#updatable.set(content.transient.display_id, place);
      vscode.bundles.push(content.data);
      await this.#draw(place, content.data);
    } else if (header.msg_type === "error") {
      vscode.errors.push(`${content.ename}: ${content.evalue}`);
    }
  }

  async #draw(place, data) {
    place.replaceChildren();
    place.className = "";
    if (WIDGET in data && this.#manager.has_model(data[WIDGET].model_id)) {
      place.className = "cell-output-ipywidget-background";
      const model = await this.#manager.get_model(data[WIDGET].model_id);
      const view = await this.#manager.create_view(model, { el: place });
      this.#manager.display_view(data[WIDGET], view, { node: place });
    } else if ("text/html" in data) {
      place.innerHTML = data["text/html"];
    } else {
      place.append(Object.assign(document.createElement("pre"), { textContent: data["text/plain"] }));
    }
  }

  run(code) {
    const future = this.#kernel.requestExecute({ code });
    let drawn = Promise.resolve();
    future.onIOPub = (message) => {
      drawn = drawn.then(() => this.take(message));
    };
    return future.done.then(() => drawn);
  }
}

window.vscode = {
  errors: [],
  /** The data of each output, as it first came. */
  bundles: [],
  ready: false,
  done: false,

  async open(name, theme) {
    document.documentElement.className = theme;
    document.body.dataset.vscodeThemeKind = `vscode-${theme}`;
    const serverSettings = ServerConnection.makeSettings({ baseUrl: location.origin, wsUrl: location.origin.replace("http", "ws") });
    const kernel = await new KernelManager({ serverSettings }).startNew({ name });
    kernel.commsOverSubshells = "disabled"; // VS Code's kernel connection has none
    const library = await import(new URL(LIBRARY, location.href).href);
    library.activate();
    window.vscIPyWidgets8.load();
    const scripts = {
      widgetsRegisteredInRequireJs: new Set(),
      errorHandler: (...what) => vscode.errors.push(what.join(" ")),
      successHandler() {},
      loadWidgetScript: async (module) => window.requirejs.config({ paths: { [module]: new URL(module, location.href).href } }),
    };
    const manager = new window.vscIPyWidgets.WidgetManager(kernel, document.body, scripts, () => {});
    vscode.outputs = new Outputs(kernel, manager);
    await kernel.info;
    vscode.ready = true;
  },

  start(code) {
    vscode.done = false;
    vscode.outputs.run(code).finally(() => {
      vscode.done = true;
    });
  },

  /** Draws an output of another session, whose models are gone. */
  reopen(data) {
    return vscode.outputs.take({ header: { msg_type: "display_data" }, content: { data } });
  },
};
