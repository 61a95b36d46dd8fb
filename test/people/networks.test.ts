import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNetworks, parseNetwork } from '../../src/people/networks.ts'

test('networks are read as CIDR or single addresses, of both families', () => {
  assert.deepEqual(parseNetwork('192.168.0.0/16'), { address: '192.168.0.0', prefix: 16, family: 'ipv4' })
  assert.deepEqual(parseNetwork(' 2001:db8::1 '), { address: '2001:db8::1', prefix: 128, family: 'ipv6' })
  for (const wrong of [
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    'host',
    '10.0.0.0/-1',
    '1',
  ]) {
    assert.equal(parseNetwork(wrong), null, wrong)
  }
})

test('an address lies in a network, also when it comes as IPv4 in IPv6', () => {
  const networks = createNetworks(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'])
  for (const inside of ['10.255.0.1', '::ffff:10.0.0.1', '2001:db8:ffff::1', '192.0.2.7']) {
    assert.ok(networks.contains(inside), inside)
  }
  for (const outside of ['11.0.0.1', '2001:db9::1', '192.0.2.8', '', 'unknown', '::ffff:11.0.0.1']) {
    assert.equal(networks.contains(outside), false, outside)
  }
})
