import { RE2JS } from 're2js'
import type { BaseConfig } from '../../config/service.ts'

/** Whether every pattern of the base configuration is found in the password. RE2: no pattern can take long. */
export function meetsRules(password: string, { check }: BaseConfig['password']): boolean {
  return check.every(({ regexp }) => RE2JS.compile(regexp).matcher(password).find())
}

/** The message about the rules for people, in the first language that has one. */
export function ruleHint({ hint }: BaseConfig['password'], languages: readonly string[]): string {
  const text = languages.map((language) => hint[language]).find(Boolean) ?? Object.values(hint)[0]
  return text ?? 'The password does not meet the rules for passwords.'
}
