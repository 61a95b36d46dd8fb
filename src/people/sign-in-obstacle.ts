/** The data that decides whether a user may sign in. */
export interface SignInState {
  readonly archived: boolean
  readonly loginDisabled: boolean
  /** Days, `YYYY-MM-DD`. */
  readonly loginValidFrom: string | null
  readonly loginValidTo: string | null
  readonly emailUnconfirmed: boolean
  /** For the user of a link: the share has ended, or has not begun. */
  readonly shareEnded?: boolean
}

/** The reason why a user may not sign in; `null` when the user may. */
export function signInObstacle(user: SignInState, now: Date): LockOut | null {
  if (user.archived) return 'archived'
  if (user.loginDisabled) return 'login_disabled'
  if (user.loginValidFrom !== null && user.loginValidFrom > dayOf(now)) return 'login_valid_from'
  if (user.loginValidTo !== null && user.loginValidTo < dayOf(now)) return 'login_valid_to'
  if (user.emailUnconfirmed) return 'email_unconfirmed'
  if (user.shareEnded) return 'share_ended'
  return null
}

const dayOf = (moment: Date): string => moment.toISOString().slice(0, 10)

export type LockOut =
  | 'archived'
  | 'deleted'
  | 'login_disabled'
  | 'login_valid_from'
  | 'login_valid_to'
  | 'email_unconfirmed'
  | 'left_directory'
  | 'share_ended'
