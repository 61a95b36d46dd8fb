import assert from 'node:assert/strict'
import { requestToken } from '../signin/support.ts'
import type { TestService } from '../support/service.ts'

/** The cookie of a session of the console, of root or somebody else. */
export async function consoleCookie(
  svc: Pick<TestService, 'inject' | 'config'>,
  username = 'root',
  password = svc.config.rootPassword ?? '',
): Promise<string> {
  const answer = await requestToken(svc, { grant_type: 'password', client_id: 'svc-inspect', username, password })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return `svc-inspect=${answer.body.access_token}`
}
