import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RawRequest, sendRaw, statusOf } from '../../support/raw.ts'
import { startService, type TestService } from '../../support/service.ts'

/** Three times as much fits into memory at once. */
const bodyLimit = 200_000
let svc: TestService
let port: number
let root: string
before(async () => {
  svc = await startService({ bodyLimit })
  port = Number(new URL(await svc.listen()).port)
  root = await svc.as('root').token()
})
after(() => svc[Symbol.asyncDispose]())

/** A request of which only the given part of the body is sent. */
function send(length: number, body: string, token = root): RawRequest {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': length,
    Connection: 'close',
  }
  return sendRaw({ port, path: '/api/v1/event', headers, body })
}

/** A text of JSON whose end is missing: it takes as much memory as it has bytes. */
const start = '{"event":{"type":"NO_SUCH_TYPE","info":{"x":"'
const unfinished = (length: number): string => start + 'x'.repeat(length - start.length)
/** Read to its end, it is refused for what it says. */
const whole = (length: number): string => `${unfinished(length - 4)}"}}}`
const status = async ({ answer }: RawRequest): Promise<number> => statusOf(await answer)

async function isOpen({ answer }: RawRequest): Promise<boolean> {
  // Whatever were to be answered is answered long before small requests that come later.
  for (let round = 0; round < 3; round++) {
    assert.equal((await svc.as('root').get('/user/session')).status, 200)
    assert.equal(await status(send(2, '{}')), 400)
  }
  return Promise.race([answer.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))])
}

/** Takes all room: what comes now waits, but for the first and the small ones. */
async function fill(): Promise<RawRequest[]> {
  const all = Array.from({ length: 4 }, () => send(bodyLimit, unfinished(190_000)))
  for (const one of all) assert.ok(await isOpen(one))
  return all
}

const destroy = (all: readonly RawRequest[]): void => {
  for (const { socket } of all) socket.destroy()
}

test('bodies that have announced much and sent nothing take no room', async () => {
  const silent = Array.from({ length: 50 }, () => send(bodyLimit, ''))
  const chunked = {
    Authorization: `Bearer ${root}`,
    'Content-Type': 'application/json',
    'Transfer-Encoding': 'chunked',
  }
  const tricklers = Array.from({ length: 50 }, () =>
    sendRaw({ port, path: '/api/v1/event', headers: chunked, body: '1\r\n{\r\n' }),
  )
  assert.equal(await status(send(190_000, whole(190_000))), 400)
  destroy([...silent, ...tricklers])
})

test('when there is no room, large bodies wait for it and small ones do not', async () => {
  const before = await fill()
  const late = send(150_000, whole(150_000))
  assert.ok(await isOpen(late))
  destroy(before.slice(0, 3))
  assert.equal(await status(late), 400)
  destroy(before)
})

test('of those that wait one is read on, so that they cannot wait for each other', async () => {
  const all = Array.from({ length: 6 }, () => send(190_000, unfinished(170_000)))
  for (const one of all) assert.ok(await isOpen(one))
  for (const one of all) one.socket.write(whole(190_000).slice(170_000))
  for (const one of all) assert.equal(await status(one), 400)
})

test('who goes while waiting leaves the queue, and those behind come in', async () => {
  const before = await fill()
  const gone = send(150_000, whole(150_000))
  assert.ok(await isOpen(gone))
  const last = send(150_000, whole(150_000))
  gone.socket.destroy()
  destroy(before)
  assert.equal(await status(last), 400)
})

test('strangers and bodies that are too large take no room and are answered at once', async () => {
  const before = await fill()
  assert.equal(await status(send(190_000, '', 'x'.repeat(40))), 401)
  assert.equal(await status(send(300_000, '')), 413)
  destroy(before)
})

test('many large bodies at once are all answered', async () => {
  const sent = Array.from({ length: 30 }, () => send(150_000, whole(150_000)))
  for (const one of sent) assert.equal(await status(one), 400)
})

test('whoever sends many large bodies slowly waits for themselves: another user is served', async () => {
  const user = { user: { login: 'slow', reference: 'slow' }, _password: 'slow' }
  const saved = await svc.as('root').post('/user', [user], { confirm: 'ignore_password_requirements' })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const token = await svc.as('slow').token()
  const slow = Array.from({ length: 8 }, () => send(bodyLimit, unfinished(190_000), token))
  for (const one of slow) assert.ok(await isOpen(one))
  for (let n = 0; n < 5; n++) assert.equal(await status(send(190_000, whole(190_000))), 400)
  for (const one of slow) assert.ok(await isOpen(one))
  destroy(slow)
})
