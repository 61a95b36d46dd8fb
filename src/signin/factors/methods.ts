/** Second factors that the base configuration may allow. */
export const factorMethods = ['email', 'passkey', 'totp'] as const
export type RecordedMethod = (typeof factorMethods)[number]

/** The methods by which a user can prove their identity: one that was set up, or a recovery code instead of it. */
export type FactorMethod = RecordedMethod | 'recovery'

export function isFactorMethod(name: unknown): name is FactorMethod {
  return name === 'recovery' || factorMethods.some((method) => method === name)
}
