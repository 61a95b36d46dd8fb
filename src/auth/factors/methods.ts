/** Second factors that the base configuration may allow. */
export const factorMethods = ['totp'] as const
export type RecordedMethod = (typeof factorMethods)[number]

/** What a user can prove with: one of those, or a recovery code in the place of an authenticator app. */
export type FactorMethod = RecordedMethod | 'recovery'

export function isFactorMethod(name: unknown): name is FactorMethod {
  return name === 'recovery' || factorMethods.some((method) => method === name)
}
