/** The run was stopped, or its export has changed: what was made for it is nobody's. */
export class RunOver extends Error {}

/** The run fails, and another attempt would, too. */
export class CannotRun extends Error {}
