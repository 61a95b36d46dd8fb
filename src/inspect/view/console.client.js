/** Draws the figures of the console as they come: each chart has the numbers of the last minutes. */
;(() => {
  const list = document.querySelector('[data-figures]')
  if (!list) return
  const status = document.getElementById('figures-status')
  const charts = new Map()
  for (const card of list.querySelectorAll('[data-figure]')) charts.set(card.dataset.figure, card)
  const most = 150
  const series = new Map()
  const whole = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 2 })
  const short = new Intl.NumberFormat(document.documentElement.lang, { maximumSignificantDigits: 3 })

  const shown = (value, unit) => {
    if (unit !== 'bytes') return unit === '' ? whole.format(value) : `${whole.format(value)} ${unit}`
    const step = value < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3))
    return `${short.format(value / 1000 ** step)} ${['B', 'kB', 'MB', 'GB', 'TB'][step]}`
  }

  const draw = (card, values) => {
    const last = values.at(-1)
    const top = Math.max(...values, 0)
    const { unit } = card.dataset
    card.querySelector('[data-now]').textContent = shown(last, unit)
    card.querySelector('[data-top]').textContent = shown(top, unit)
    const points = values.map((value, index) => {
      const x = 200 - (values.length - 1 - index) * (200 / (most - 1))
      const y = 48 - (top === 0 ? 0 : (value / top) * 44)
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    const first = points[0].split(',')[0]
    card.querySelector('.line').setAttribute('points', points.join(' '))
    card.querySelector('.area').setAttribute('points', `${first},50 ${points.join(' ')} 200,50`)
  }

  const take = ({ values }) => {
    for (const [name, value] of Object.entries(values)) {
      const card = charts.get(name)
      if (!card) continue
      const known = series.get(name) ?? []
      known.push(value)
      if (known.length > most) known.shift()
      series.set(name, known)
      draw(card, known)
    }
  }

  const source = new EventSource(list.dataset.figures)
  source.addEventListener('sample', (event) => {
    status.textContent = status.dataset.live
    take(JSON.parse(event.data))
  })
  source.addEventListener('history', (event) => {
    series.clear()
    for (const sample of JSON.parse(event.data)) take(sample)
  })
  source.addEventListener('error', () => {
    status.textContent = status.dataset.lost
  })
})()
