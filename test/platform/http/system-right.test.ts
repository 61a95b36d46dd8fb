import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { rightName } from '../../../src/platform/http/system-right.ts'
import { templateOf } from '../../../src/system/openapi/operation.ts'
import { firstAnswer, sendRaw, statusOf } from '../../support/raw.ts'
import { startService, type TestService } from '../../support/service.ts'

/** Nothing of what follows is ever sent. */
const announced = 3_000_000

/** Routes of which only some requests need a system right: who sends the others must be heard out. */
const sometimes = [
  'DELETE /api/v1/user/:id', // unless there is a grant on the user
  'POST /api/v1/user', // others than oneself
  'PUT /api/v1/user',
  'POST /api/v1/user/change_password', // unless the user was told to
]

suite('routes that need a system right', () => {
  let svc: TestService
  let port: number
  let token: string
  before(async () => {
    svc = await startService()
    port = Number(new URL(await svc.listen()).port)
    await svc.as('root').post('/user', [{ user: { login: 'powerless' }, _password: 'powerless' }])
    token = await svc.as('powerless').token()
  })
  after(() => svc[Symbol.asyncDispose]())

  /** The answer to a request of which only the head is sent. */
  async function early(method: string, path: string) {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': announced,
    }
    const request = sendRaw({ port, method, path, headers })
    const answer = await firstAnswer(request)
    request.socket.destroy()
    return { status: statusOf(answer), body: JSON.parse(answer.split('\r\n\r\n')[1] || '{}') }
  }

  test('whoever does not have it is refused before the body', async () => {
    const declared = svc.app.http.declaredRoutes.filter(({ systemRight }) => systemRight !== undefined)
    assert.ok(declared.length >= 20)
    for (const { method, url, systemRight } of declared) {
      const path = url.replaceAll(/:version/g, 'CURRENT').replaceAll(/:\w+|\*/g, '1')
      const { status, body } = await early(method, path)
      assert.equal(status, 403, `${method} ${path}`)
      assert.equal(body.code, 'SystemRightRequired')
      assert.equal(body.parameters.right, systemRight && rightName(systemRight), `${method} ${path}`)
    }
  })

  test('every route that needs one whatever is asked declares it', async () => {
    const undeclared: string[] = []
    for (const { method, url, access, systemRight } of svc.app.http.declaredRoutes) {
      if (systemRight || access === 'public') continue
      const path = url.replaceAll(/:version/g, 'CURRENT').replaceAll(/:\w+|\*/g, '1')
      for (const payload of method === 'GET' ? [undefined] : [[], {}, [{}], [{ user: { login: 'new' } }]]) {
        const form = url.endsWith('change_password')
        const { body } = await svc.inject({
          method: method as 'POST',
          url: path,
          headers: {
            authorization: `Bearer ${token}`,
            ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
          },
          ...(payload === undefined ? {} : { payload: form ? 'password=a&new_password=b' : payload }),
        })
        if (!body.startsWith('{"code":"SystemRightRequired"')) continue
        undeclared.push(`${method} ${url}`)
        break
      }
    }
    assert.deepEqual(undeclared.sort(), [...sometimes].sort())
  })

  test('the description of the interface names it', async () => {
    const { body: document } = await svc.as('root').get('/system/openapi/spec.json')
    for (const { method, url, systemRight, surface } of svc.app.http.declaredRoutes) {
      // Pages are not in it.
      if (!systemRight || surface.description === null) continue
      const operation = document.paths[templateOf(url)][method.toLowerCase()]
      assert.ok(operation.description.startsWith(`Needs \`${rightName(systemRight)}\`.`), `${method} ${url}`)
      assert.match(operation.responses['403'].description, /`SystemRightRequired`/)
    }
  })
})
