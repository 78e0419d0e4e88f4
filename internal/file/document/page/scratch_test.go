package page
import ("testing";"os";"fmt")
func TestScratch(t *testing.T){
 f:=os.Getenv("PAGE"); if f=="" {t.Skip()}
 d,_:=os.ReadFile(f)
 p:=Read(d,Request{URL:"https://example.org/docs/x.html",HTML:true})
 fmt.Printf("TITLE %s\nNOTE %s\n%s\n",p.Title,p.Note,p.Text)
}
