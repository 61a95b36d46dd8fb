import type { Login } from './login.ts'

/**
 * A step between a proved password and the code: a second factor, a new password, a message. A step has a page, `/api/page/<name>`,
 * or several; while it names one, the sign-in cannot continue. How to add one: docs/architecture.md.
 */
export interface LoginStep {
  readonly name: string
  /** Steps of an earlier phase come first: proof of identity, requirements of the account, notices to read. */
  readonly phase: 'proof' | 'account' | 'notice'
  /**
   * The page that this sign-in must pass now; null: none. Called after the credentials and again after every passed page, but not
   * for steps that are already passed.
   */
  page(login: Login): Promise<string | null>
}

const phases = ['proof', 'account', 'notice'] as const

/** The steps in the order in which they must be passed. */
export function orderedSteps(steps: readonly LoginStep[]): LoginStep[] {
  return steps.toSorted((a, b) => phases.indexOf(a.phase) - phases.indexOf(b.phase))
}
