import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPublicAddress } from '../../src/platform/outgoing/addresses.ts'
import { type OutgoingRequest, RefusedAddress, sendOutgoing } from '../../src/platform/outgoing/request.ts'
import { startWebhookServer } from '../support/webhook-server.ts'

const request = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  url,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{}',
  timeout: 2000,
  maxResponse: 1000,
  allowPrivate: true,
  ...more,
})

test('only addresses of the public internet are public', () => {
  const inside = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '::10.0.0.1',
    '64:ff9b::a00:1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:a00:1::1',
    '3fff::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ]
  const outside = [
    '1.1.1.1',
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '192.169.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ]
  for (const address of inside) assert.equal(isPublicAddress(address), false, address)
  for (const address of outside) assert.equal(isPublicAddress(address), true, address)
})

test('no IPv4 address becomes public by being written as IPv6', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      for (const written of [`::ffff:${address}`, `::${address}`, `64:ff9b::${address}`]) {
        assert.equal(isPublicAddress(written), false, written)
      }
    }),
  )
})

test('names and addresses in any spelling are checked before anything is sent', async () => {
  await using server = await startWebhookServer()
  const port = new URL(server.url).port
  const hosts = [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
  ]
  for (const host of hosts) {
    const attempt = sendOutgoing(request(`http://${host}:${port}/`, { allowPrivate: false }))
    await assert.rejects(attempt, RefusedAddress, host)
  }
  await assert.rejects(sendOutgoing(request('file:///etc/passwd')), RefusedAddress)
  assert.equal(server.calls.length, 0)
  const answer = await sendOutgoing(request(`http://localhost:${port}/`))
  assert.deepEqual([answer.status, answer.body.toString()], [200, '{"ok":true}'])
})

test('an unknown name, a closed port, a silent or endless receiver: an error in time', async () => {
  await using server = await startWebhookServer()
  await assert.rejects(sendOutgoing(request('http://name.invalid/')))
  await assert.rejects(sendOutgoing(request('http://127.0.0.1:1/')))
  server.answer = () => 'hang'
  await assert.rejects(sendOutgoing(request(server.url, { timeout: 100 })), /no answer within 100 ms/)
  server.answer = () => ({ body: 'x'.repeat(1001) })
  await assert.rejects(sendOutgoing(request(server.url)), /longer than 1000 bytes/)
  const stopped = AbortSignal.abort(new Error('stopping'))
  await assert.rejects(sendOutgoing(request(server.url, { signal: stopped })))
})

test('a redirect is an answer, not followed', async () => {
  await using server = await startWebhookServer()
  server.answer = () => ({ status: 302, headers: { location: 'http://169.254.169.254/' } })
  assert.equal((await sendOutgoing(request(server.url))).status, 302)
  assert.equal(server.calls.length, 1)
})
