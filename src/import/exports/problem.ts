/** The package cannot be imported; the message is one line for the person at the terminal. */
export class PackageProblem extends Error {}
