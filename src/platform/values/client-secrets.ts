const mostRounds = 14

/**
 * The rule for secrets of OAuth2 clients: a bcrypt hash whose comparison takes a second at most (LIM-003). Returns the description
 * of a valid secret when this one is invalid, else null.
 */
export function bcryptRule(hash: string): string | null {
  const rounds = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1]
  if (rounds === undefined) return 'a bcrypt hash'
  return Number(rounds) <= mostRounds ? null : `a bcrypt hash of at most ${mostRounds} rounds, not of ${Number(rounds)}`
}
