/** The run was stopped, its export has changed, or another attempt has taken it up: what was made for it is nobody's. */
export class RunOver extends Error {
  constructor() {
    super('the run is over')
  }
}

/** The run fails, and another attempt would, too. */
export class CannotRun extends Error {
  /** What the plugin of the export has said. */
  readonly pluginLog: readonly string[] | null

  constructor(message: string, { pluginLog = null }: { readonly pluginLog?: readonly string[] | null } = {}) {
    super(message)
    this.pluginLog = pluginLog
  }
}
