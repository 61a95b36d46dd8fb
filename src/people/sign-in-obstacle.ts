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
  const today = now.toISOString().slice(0, 10)
  if (user.archived) return 'archived'
  if (user.loginDisabled) return 'login_disabled'
  if (user.loginValidFrom !== null && user.loginValidFrom > today) return 'login_valid_from'
  if (user.loginValidTo !== null && user.loginValidTo < today) return 'login_valid_to'
  if (user.emailUnconfirmed) return 'email_unconfirmed'
  if (user.shareEnded) return 'share_ended'
  return null
}

export type LockOut =
  | 'archived'
  | 'deleted'
  | 'login_disabled'
  | 'login_valid_from'
  | 'login_valid_to'
  | 'email_unconfirmed'
  | 'left_directory'
  | 'share_ended'
