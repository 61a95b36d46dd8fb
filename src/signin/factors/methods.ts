/** Second factors that the base configuration may allow. */
export const factorMethods = ['email', 'passkey', 'totp'] as const
export type RecordedMethod = (typeof factorMethods)[number]

/** What a user can prove with: one of those, or a recovery code in the place of one that was set up. */
export type FactorMethod = RecordedMethod | 'recovery'

export function isFactorMethod(name: unknown): name is FactorMethod {
  return name === 'recovery' || factorMethods.some((method) => method === name)
}
