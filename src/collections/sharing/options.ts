import { type Flag, isOn } from '../../platform/http/query.ts'
import type { ShareOptions } from '../../rights/service.ts'

/** The options of a request about grants that are too wide. */
export function shareOptions({
  allow_invalid_acl: allow,
  background_invalid_acl: background,
}: {
  readonly allow_invalid_acl?: Flag
  readonly background_invalid_acl?: Flag
}): ShareOptions {
  return { allow: isOn(allow), background: isOn(background) }
}
