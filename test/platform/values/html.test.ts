import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Html, html, joined, nothing } from '../../../src/platform/values/html.ts'

test('a text is escaped wherever it stands; finished HTML, lists of it and numbers stand as they are', () => {
  const bold = (text: string): Html => html`<b title="${text}">${text}</b>`
  assert.equal(String(bold(`<i>&"'`)), '<b title="&#60;i&#62;&#38;&#34;&#39;">&#60;i&#62;&#38;&#34;&#39;</b>')
  assert.equal(String(html`${[bold('a'), bold('b')]}${7}${nothing}${''}`), '<b title="a">a</b><b title="b">b</b>7')
  assert.equal(String(joined([bold('a'), html`&amp;`])), '<b title="a">a</b>&amp;')
  // What was made a text again is no HTML.
  assert.equal(String(html`${String(html`<br>`)}`), '&#60;br&#62;')
})

test('no text ends an attribute or an element', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const made = String(html`<p title="${text}">${text}</p>`)
      assert.match(made, /^<p title="[^"<>]*">[^<>]*<\/p>$/u)
      const back = made.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
      if (!/&#\d+;/.test(text)) assert.equal(back, `<p title="${text}">${text}</p>`)
    }),
  )
})
