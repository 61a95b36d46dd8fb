import assert from 'node:assert/strict'
import { requestToken } from '../signin/support.ts'
import type { InjectResponse } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

type Service = Pick<TestService, 'inject' | 'config'>

/** The cookie of a session of the console, of root or somebody else. */
export async function consoleCookie(
  svc: Service,
  username = 'root',
  password = svc.config.rootPassword ?? '',
): Promise<string> {
  const answer = await requestToken(svc, { grant_type: 'password', client_id: 'svc-inspect', username, password })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return `svc-inspect=${answer.body.access_token}`
}

/** What somebody sees who has signed in to the console, or who has not. */
export function consoleOf(svc: Service, cookie: string | null) {
  const headers = (more: Record<string, string>) => ({ ...(cookie === null ? {} : { cookie }), ...more })
  const get = (path: string, more: Record<string, string>): Promise<InjectResponse> =>
    svc.inject({ method: 'GET', url: `/inspect${path}`, headers: headers(more) })
  return {
    get,
    html: (path: string, language = 'en'): Promise<InjectResponse> =>
      get(path, { accept: 'text/html', 'accept-language': language }),
    /** The JSON form, which must be there. */
    async json(path: string): Promise<Record<string, unknown>> {
      const answer = await get(path, { accept: 'application/json' })
      assert.equal(answer.statusCode, 200, `${path}: ${answer.body}`)
      return answer.json()
    },
    post: (path: string, form: Record<string, string>, more: Record<string, string> = {}): Promise<InjectResponse> =>
      svc.inject({
        method: 'POST',
        url: `/inspect${path}`,
        headers: headers({ 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', ...more }),
        payload: new URLSearchParams(form).toString(),
      }),
  }
}

/** The fields of the form of a page that does something, as a browser would send them. */
export function formFor(body: string, action: string): Record<string, string> {
  for (const [form] of body.matchAll(/<form class="act"[\s\S]*?<\/form>/g)) {
    const fields = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)]
    const values = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]))
    if (values.action === action) return values
  }
  return assert.fail(`the page has no button ${action}`)
}
