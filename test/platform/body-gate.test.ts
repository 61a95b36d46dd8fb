import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { startService, type TestService } from '../support/service.ts'

/** Bodies of two of these fit into memory at once. */
const bodyLimit = 200_000
let svc: TestService
let port: number
before(async () => {
  svc = await startService({ bodyLimit })
  port = Number(new URL(await svc.listen()).port)
})
after(() => svc[Symbol.asyncDispose]())

interface Sent {
  readonly socket: Socket
  /** Resolves with the answer. */
  readonly answer: Promise<string>
}

/** A request on a connection of its own, of which only the given part of the body is sent. */
async function send(length: number, body: string, token?: string): Promise<Sent> {
  const authorization = token ?? (await svc.as('root').token())
  const socket = connect(port, '127.0.0.1')
  const head = [
    'POST /api/v1/search HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  return { socket, answer: once(socket, 'close').then(() => text) }
}

const wrong = (length: number): string => 'x'.repeat(length)
const status = (answer: string): number => Number(answer.split(' ')[1])

async function isOpen({ answer }: Sent): Promise<boolean> {
  // Whatever were to be answered is answered long before a small request that comes later.
  assert.equal((await svc.as('root').get('/user/session')).status, 200)
  assert.equal(status(await (await send(2, '{}')).answer), 200)
  return Promise.race([answer.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))])
}

test('large bodies wait until there is room for them, small ones do not', async () => {
  const first = await send(190_000, '{')
  const second = await send(190_000, '{')
  assert.ok(await isOpen(first))
  const third = await send(100_000, wrong(100_000))
  assert.ok(await isOpen(third))
  first.socket.destroy()
  assert.equal(status(await third.answer), 400)
  second.socket.write(wrong(189_999))
  assert.equal(status(await second.answer), 400)
})

test('who goes while waiting leaves the queue, and those behind come in', async () => {
  const first = await send(190_000, '{')
  const second = await send(190_000, '{')
  assert.ok(await isOpen(second))
  const gone = await send(190_000, wrong(190_000))
  assert.ok(await isOpen(gone))
  const last = await send(100_000, wrong(100_000))
  gone.socket.destroy()
  second.socket.destroy()
  assert.equal(status(await last.answer), 400)
  first.socket.destroy()
})

test('strangers and bodies that are too large take no place and are answered at once', async () => {
  const first = await send(190_000, '{')
  const second = await send(190_000, '{')
  assert.ok(await isOpen(second))
  assert.equal(status(await (await send(190_000, '', 'x'.repeat(40))).answer), 401)
  assert.equal(status(await (await send(300_000, '')).answer), 413)
  first.socket.destroy()
  second.socket.destroy()
})

test('many large bodies at once are all answered', async () => {
  const sent = await Promise.all(Array.from({ length: 20 }, () => send(150_000, wrong(150_000))))
  const answers = await Promise.all(sent.map(({ answer }) => answer))
  assert.deepEqual(
    answers.map(status),
    answers.map(() => 400),
  )
})
