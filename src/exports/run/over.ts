/** The run was stopped, its export has changed, or another attempt has taken it over: its results are discarded. */
export class RunOver extends Error {
  constructor() {
    super('the run is over')
  }
}

/** The run fails, and another attempt would, too. */
export class CannotRun extends Error {
  /** The log of the export's plugin. */
  readonly pluginLog: readonly string[] | null

  constructor(message: string, { pluginLog = null }: { readonly pluginLog?: readonly string[] | null } = {}) {
    super(message)
    this.pluginLog = pluginLog
  }
}
